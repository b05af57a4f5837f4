import { keysOf, mapKeys } from '@sluice/protocol/typed-keys';

/** Addresses that are the same on every ledger: those of real programs, and those of the simulator's own programs. */
export const KNOWN = {
  system: '11111111111111111111111111111111',
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  token2022: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  associated: 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  budget: 'ComputeBudget111111111111111111111111111111',
  memo: 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  stake: 'Stake11111111111111111111111111111111111111',
  vote: 'Vote111111111111111111111111111111111111111',
  signatureCheck: 'Ed25519SigVerify111111111111111111111111111',
  amm: '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc',
  orderBook: 'HdqpybXZAtUXJdkYDt49Puzvcz8dexxe4hsmjcYNnuzC',
  launchpad: '8rzuHJoBG2p9MCnsSD3PhA85jrnTofwXfC4o5rCAaXRi',
  lending: 'EkWJJD5bYN2RyQUchuv3acjcWM5gdJ8JSFiEScJhDxuN',
  oracle: '4o6iUEnLSqyfswshPtNyUjUVKb6FQN34S5j7EXBSN2cZ',
  router: 'Hib96bSo8wswXP9Heb34SEZaPxJ6Q9RxatbNsTkDQCsK',
  arbitrage: '256KwCmfbjXkyRhcpmh9T6bFVEqtNfh3NTM8ieWMNbZg',
  rentSysvar: 'SysvarRent111111111111111111111111111111111',
  clockSysvar: 'SysvarC1ock11111111111111111111111111111111',
  stakeHistorySysvar: 'SysvarStakeHistory1111111111111111111111111',
  stakeConfig: 'StakeConfig11111111111111111111111111111111',
  wrappedCoin: 'So11111111111111111111111111111111111111112',
} as const;

type KnownName = keyof typeof KNOWN;

/** The account numbers of these addresses: their positions in the list above. */
export const ID: Readonly<Record<KnownName, number>> = mapKeys(keysOf(KNOWN), (name) =>
  Object.keys(KNOWN).indexOf(name),
);

export const KNOWN_TEXTS: readonly string[] = Object.values(KNOWN);
export const KNOWN_COUNT = KNOWN_TEXTS.length;

/** Programs that were deployed, as opposed to those that are built into the node. */
export const PROGRAMS: readonly number[] = [
  ...[ID.token, ID.token2022, ID.associated, ID.memo, ID.stake],
  ...[ID.amm, ID.orderBook, ID.launchpad, ID.lending, ID.oracle, ID.router, ID.arbitrage],
];
