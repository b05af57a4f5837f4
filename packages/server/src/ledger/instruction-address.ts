/** Execution order: by number, and a prefix before what it prefixes. */
export function compareInstructionAddresses(a: readonly number[], b: readonly number[]): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Whether `ancestor` lies above `address` in the call tree, at any distance but zero. */
export function isAncestorAddress(
  ancestor: readonly number[],
  address: readonly number[],
): boolean {
  if (ancestor.length >= address.length) return false;
  return ancestor.every((step, depth) => step === address[depth]);
}
