/** Compares two addresses in execution order: by number, and a prefix before its extensions. */
export function compareInstructionAddresses(a: readonly number[], b: readonly number[]): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Returns whether `ancestor` is a proper ancestor of `address` in the call tree. */
export function isAncestorAddress(
  ancestor: readonly number[],
  address: readonly number[],
): boolean {
  if (ancestor.length >= address.length) return false;
  return ancestor.every((step, depth) => step === address[depth]);
}
