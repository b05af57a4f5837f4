/**
 * Asserts an invariant of our own code. A failure is a bug and throws. Faults of the environment (bad input, a full
 * disk, a failing source) are coded errors instead.
 */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw new AssertionError(invariant);
}

/**
 * Marks the unreachable default of a switch over a union. The compiler reports an error as soon as a member of the
 * union is not handled.
 */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable value ${String(value)}`);
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}
