/**
 * How many bytes at the start of the data name the instruction, for programs whose length is fixed and not the usual 8. The
 * data behind a shorter discriminator are amounts and accounts, which do not distinguish instructions.
 */
export const DISCRIMINATOR_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['11111111111111111111111111111111', 4],
  ['Stake11111111111111111111111111111111111111', 4],
  ['Vote111111111111111111111111111111111111111', 4],
  ['AddressLookupTab1e1111111111111111111111111', 4],
  ['BPFLoaderUpgradeab1e11111111111111111111111', 4],
  ['BPFLoader2111111111111111111111111111111111', 4],
  ['ComputeBudget111111111111111111111111111111', 1],
  ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 1],
  ['TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', 1],
  ['ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL', 1],
  ['MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', 0],
  ['Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo', 0],
  ['Ed25519SigVerify111111111111111111111111111', 0],
  ['KeccakSecp256k11111111111111111111111111111', 0],
  ['Secp256r1SigVerify1111111111111111111111111', 0],
]);
