/** States an invariant of our own code. A failure is a bug, so it crashes; faults of the world are coded errors instead. */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw new AssertionError(invariant);
}

/** Ends a switch over a union: the compiler objects as soon as a member is not handled. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable value ${String(value)}`);
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}
