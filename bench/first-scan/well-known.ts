/** Addresses and discriminators of the public ledger that the queries use if the corpus has them. */
export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const WRAPPED_COIN = 'So11111111111111111111111111111111111111112';
export const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';
export const RAYDIUM = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8';
export const WHIRLPOOL = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc';
export const RAYDIUM_CLMM = 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK';
export const METEORA = 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo';
export const PHOENIX = 'PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY';
export const ZETA = 'ZETAxsqBRek56DhiGXrn75yj2NHU3aYUnxvHXpkf3aD';

export const swap = '0xf8c69e91e17587c8';
export const route = '0xe517cb977ae3ad2a';
/** Programs call themselves with this discriminator to record an event; such a call makes no further calls. */
export const event = '0xe445a52e51cb9a1d';
export const placeOrder = '0xa68acd645a6ebf5b';

export const poolOwner = '8c2jyBvCrBzceeNrnGPztpXD7kDVaZsPnn8UdSiXRurL';
export const tokenOwner = 'BerGz9jsBVEsVyNDy4TxYdz1LhN6HzxGCYJXbwqASq9e';
export const rareAccount = '8X3vwKytCwcwTLppP1NWASeHWfRBvmPVzSY5MPBXmgJn';

/** Infrastructure programs, which are not typical for an application. */
export const infrastructure: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  TOKEN,
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
]);
