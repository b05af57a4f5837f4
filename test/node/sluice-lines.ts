import { expect } from 'vitest';
import type { ServiceProcess } from '../service/service-process.ts';
import { type Exact, parseExact } from './parse-exact.ts';

const FIELDS = {
  block: 'number hash parentSlot parentNumber parentHash height timestamp recordCounts',
  transaction:
    'transactionIndex version accountKeys addressTableLookups numReadonlySignedAccounts numReadonlyUnsignedAccounts numRequiredSignatures recentBlockhash signatures err fee computeUnitsConsumed loadedAddresses feePayer hasDroppedLogMessages',
  instruction:
    'transactionIndex instructionAddress programId accounts data d1 d2 d4 d8 error computeUnitsConsumed isCommitted hasDroppedLogMessages',
  log: 'transactionIndex logIndex instructionAddress programId kind message',
  balance: 'transactionIndex account pre post',
  tokenBalance:
    'transactionIndex account preMint postMint preDecimals postDecimals preProgramId postProgramId preOwner postOwner preAmount postAmount',
  reward: 'pubKey pubkey lamports postBalance rewardType commission',
};

export interface SluiceLine {
  readonly header: { readonly number: bigint; readonly parentSlot: bigint; readonly hash: string };
  readonly [kind: string]: Exact;
}

/** Returns all records with all fields of the finalized blocks of a range. */
export async function readSluiceLines(
  service: ServiceProcess,
  range: { readonly fromBlock: number; readonly toBlock: number },
): Promise<SluiceLine[]> {
  const select = (names: string) =>
    Object.fromEntries(names.split(' ').map((name) => [name, true]));
  const kinds = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];
  const response = await service.query('/datasets/mine/finalized-stream', {
    ...range,
    includeAllBlocks: true,
    fields: Object.fromEntries(Object.entries(FIELDS).map(([kind, of]) => [kind, select(of)])),
    ...Object.fromEntries(kinds.map((kind) => [kind, [{}]])),
  });
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').slice(0, -1);
  return lines.map((line) => parseExact(line) as unknown as SluiceLine);
}
