const SIGNATURE_COST = 720;
const WRITABLE_KEY_COST = 300;

/** What a transaction counts for in a block's limits: its units and a share for each signature and writable account. */
export function countCost(
  units: number,
  { signatures, writableKeys }: { readonly signatures: number; readonly writableKeys: number },
): number {
  return units + SIGNATURE_COST * signatures + WRITABLE_KEY_COST * writableKeys;
}
