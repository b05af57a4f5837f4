import type { PooledText, TextPool } from './text-pool.ts';

/** The constant parts of a block's JSON: keys in the order of a node, and the text around values. */
const JSON_WORDS = {
  comma: ',',
  null: 'null',
  closeObject: '}',
  closeObjects: '}}',
  closeArray: ']',
  closeArrayInObject: ']}',
  nothing: '[]',
  openTexts: '["',
  closeTexts: '"]',
  // The block.
  rewards: ',"rewards":[',
  transactions: ',"transactions":[',
  // A transaction: {"meta":…,"transaction":{"message":…,"signatures":…},"version":…}
  meta: '{"meta":',
  message: ',"transaction":{"message":',
  ownSignatures: ',"signatures":',
  legacy: '},"version":"legacy"}',
  version0: '},"version":0}',
  version1: '},"version":1}',
  // A message.
  accountKeys: '{"accountKeys":',
  lookups: ',"addressTableLookups":[',
  header: ',"header":{"numReadonlySignedAccounts":',
  headerAfterLookups: '],"header":{"numReadonlySignedAccounts":',
  readonlyUnsigned: ',"numReadonlyUnsignedAccounts":',
  requiredSignatures: ',"numRequiredSignatures":',
  instructions: '},"instructions":[',
  recentBlockhash: '],"recentBlockhash":"',
  config: '","transactionConfig":{"computeUnitLimit":',
  configEnd: ',"heapSize":null,"loadedAccountsDataSizeLimit":null,"priorityFee":0}}',
  messageEnd: '"}',
  // A lookup.
  lookup: '{"accountKey":"',
  readonlyIndexes: '","readonlyIndexes":[',
  writableIndexes: '],"writableIndexes":[',
  // A call; the text after the program differs.
  accounts: '{"accounts":[',
  data: '],"data":"',
  programIndex: '","programIdIndex":',
  stackHeight: ',"stackHeight":',
  stackHeight1: ',"stackHeight":1}',
  stackHeightNull: ',"stackHeight":null}',
  // A status.
  openObject: '{',
  units: '"computeUnitsConsumed":',
  cost: ',"costUnits":',
  error: '"err":',
  fee: ',"fee":',
  inner: ',"innerInstructions":',
  loaded: ',"loadedAddresses":{"readonly":',
  loadedNone: ',"loadedAddresses":{"readonly":[],"writable":[]}',
  writable: ',"writable":',
  logs: ',"logMessages":',
  postBalances: ',"postBalances":[',
  postHoldings: '],"postTokenBalances":[',
  preBalances: '],"preBalances":[',
  preHoldings: '],"preTokenBalances":[',
  noRewards: '],"rewards":[],"status":',
  status: '],"status":',
  ok: '{"Ok":null}}',
  failed: '{"Err":',
  // The calls that an instruction made.
  openArray: '[',
  index: '{"index":',
  innerInstructions: ',"instructions":[',
  // A token balance.
  accountIndex: '{"accountIndex":',
  mint: ',"mint":"',
  owner: '","owner":"',
  programId: '","programId":"',
  amount: '","uiTokenAmount":{"amount":"',
  decimals: '","decimals":',
  float: ',"uiAmount":',
  shown: ',"uiAmountString":"',
  holdingEnd: '"}}',
  // A reward.
  commission: '{"commission":',
  lamports: ',"lamports":',
  postBalance: ',"postBalance":',
  pubkey: ',"pubkey":"',
  rewardType: '","rewardType":',
} as const;

export type JsonWords = Readonly<Record<keyof typeof JSON_WORDS, PooledText>>;

export function poolJsonWords(pool: TextPool): JsonWords {
  const words = Object.entries(JSON_WORDS).map(([name, word]) => [name, pool.lasting.add(word)]);
  return Object.fromEntries(words) as JsonWords;
}
