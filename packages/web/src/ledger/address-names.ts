/** Names of well-known addresses. An address that is not listed is shown unchanged. */
import { idls } from 'virtual:idl';
import { nativePrograms } from './native-programs.ts';

/** Frequent programs of the main network. */
const applications: Readonly<Record<string, string>> = {
  JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4: 'Jupiter',
  '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8': 'Raydium AMM',
  CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK: 'Raydium CLMM',
  CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C: 'Raydium CPMM',
  whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc: 'Orca Whirlpool',
  LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo: 'Meteora DLMM',
  '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P': 'Pump.fun',
  pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA: 'Pump.fun AMM',
  PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY: 'Phoenix',
  opnb2LAfJYbRMAHHvqjCwQxanZn7ReEHp1k81EohpZb: 'OpenBook',
  srmqPvymJeFKQ4zGQed1GFppgkRHL9kaELCbyksJtPX: 'Serum',
  metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s: 'Token Metadata',
  worm2ZoG2kUd4vFXhvjh93UUH596ayRfgQ2MgjNMTth: 'Wormhole',
  MarBmsSgKXdrN1egZf5sqe1TMai9K1rChYNDJgjq7aD: 'Marinade',
  // Programs of the simulated ledger. Its other programs have interface descriptions.
  '256KwCmfbjXkyRhcpmh9T6bFVEqtNfh3NTM8ieWMNbZg': 'Arbitrage',
};

const mints: Readonly<Record<string, string>> = {
  So11111111111111111111111111111111111111112: 'SOL',
  EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v: 'USDC',
  Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB: 'USDT',
  mSoLzYCxHdYgdzU16g5QSh3i5K3z3KZK7ytfqcJm7So: 'mSOL',
  JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN: 'JUP',
  DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263: 'BONK',
  // The simulated ledger.
  '2pg5tjUJeQg1Z4S1nPqAk8U9nSk4c6V15JTRPXgkxB8F': 'USD',
  BEHESzCtRHGBp2MvDoexfw3rZAe6BFcf25G9DBL8jfSR: 'STK',
  HdDCAQFNPURmXcxKvL9YkeLaAob41d9H4pFCGWWQujho: 'PUSD',
  G34yZvz613zU4PunwmgAZyudqDrmycmFK8THmx4Ncv6G: 'BNK',
  '5wdwNT24N8STUHZwFqR3U1iZ4Upn6G6VTjPxgpPQTASM': 'JUP',
  CLo9Nokbzfn3gn7NW2Xwcs5jWiJzSk7q6yxnjwxZDh4V: 'WIF',
  '7zkbLUUwfTuwheXWyMAU6Uv39iXeCrwQgDcmG1N1YtSL': 'RAY',
  '6cy6kG7HyuLQoK6QrncbbWYHgP6x6GCifYRZi3kbUCRH': 'PYT',
  Gz33psioCpLAGLTkduR1JsxWRzLuYvXMv9fNgGLFPvHP: 'ORC',
  Es8tbJ7ixuBFuQA8CkMAT5vYWeAVMf2615p3ui91cCXh: 'BTC',
  D2UAWpR7FaL7STox43LHUn5WyPHphvf5Xx32EUzxHNzT: 'ETH',
  '5RVUHCKcFoADo4BkhNzvzayodvbiZbuRgcizkerQLNn5': 'FART',
};

const others: Readonly<Record<string, string>> = {
  SysvarRent111111111111111111111111111111111: 'Sysvar: rent',
  SysvarC1ock11111111111111111111111111111111: 'Sysvar: clock',
  Sysvar1nstructions1111111111111111111111111: 'Sysvar: instructions',
  SysvarStakeHistory1111111111111111111111111: 'Sysvar: stake history',
  SysvarRecentB1ockHashes11111111111111111111: 'Sysvar: recent block hashes',
  EwvA43GwY3c7A5taH3Gm3pDKTdD82q7nhdAfrNspVJpA: 'Simulated faucet',
  GjJMzWLWzzCQg8z78pbAMRgAoeCdDQAFgUZrvYKFZ4bS: 'Simulated market maker',
};

const described = new Map(idls.map((idl) => [idl.address, idl]));

export function findIdl(programId: string) {
  return described.get(programId);
}

/** Returns the name of a program, or `undefined` if it is not well known. */
export function programName(address: string): string | undefined {
  const idl = described.get(address);
  return (
    nativePrograms[address]?.name ??
    applications[address] ??
    (idl === undefined ? undefined : toTitle(idl.name))
  );
}

/** Returns the symbol of a token, or `undefined` if its mint is not well known. */
export function mintSymbol(address: string): string | undefined {
  return mints[address];
}

export function addressName(address: string): string | undefined {
  const symbol = mints[address];
  return programName(address) ?? (symbol === undefined ? others[address] : `${symbol} mint`);
}

/** Every address with a name, for the search. */
export const namedAddresses = [
  ...Object.keys(nativePrograms),
  ...Object.keys(applications),
  ...described.keys(),
  ...Object.keys(mints),
  ...Object.keys(others),
].map((address) => ({ address, name: addressName(address) ?? address }));

/** Returns `order_book` as `Order Book`. */
export function toTitle(name: string): string {
  if (/^[a-z]{2,3}$/.test(name)) return name.toUpperCase();
  return name
    .split(/[_\s]/)
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
