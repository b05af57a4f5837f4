import { expect, test } from 'vitest';
import {
  defaultFieldNames,
  fieldNames,
  fieldRows,
  KINDS,
  RECORD_ARRAY_NAMES,
} from './field-table.ts';
import { filterRows, relationRows, replacedRows } from './request-table.ts';

/** The fields in wire order. A star marks extensions (ext). */
const wire: Readonly<Record<string, string>> = {
  block:
    'number hash parentSlot parentNumber* parentHash* height timestamp* recordCounts* finalizedHead*',
  transaction:
    'transactionIndex version accountKeys addressTableLookups numReadonlySignedAccounts numReadonlyUnsignedAccounts ' +
    'numRequiredSignatures recentBlockhash signatures err fee computeUnitsConsumed loadedAddresses feePayer ' +
    'hasDroppedLogMessages',
  instruction:
    'transactionIndex instructionAddress programId accounts data d1 d2 d4 d8 error computeUnitsConsumed isCommitted ' +
    'hasDroppedLogMessages decoded*',
  log: 'transactionIndex logIndex instructionAddress programId kind* message decoded*',
  balance: 'transactionIndex account pre post',
  tokenBalance:
    'transactionIndex account preMint postMint preDecimals postDecimals preProgramId postProgramId preOwner postOwner ' +
    'preAmount postAmount',
  reward: 'pubKey pubkey* lamports postBalance rewardType commission',
};

test('behavior: kinds, arrays and fields are in wire order', () => {
  expect(KINDS).toEqual(Object.keys(wire));
  expect(RECORD_ARRAY_NAMES.join(' ')).toBe(
    'transactions instructions logs balances tokenBalances rewards',
  );
  for (const kind of KINDS) {
    const names = fieldRows(kind).map(([name, row]) => (row.ext === true ? `${name}*` : name));
    expect(names.join(' ')).toBe(wire[kind]);
  }
});

test('behavior: the dialects differ in the fields of a reward', () => {
  expect(fieldNames('reward', 'ledger').slice(0, 2)).toEqual(['pubKey', 'pubkey']);
  expect(fieldNames('reward', 'solana').slice(0, 2)).toEqual(['pubkey', 'lamports']);
  for (const kind of KINDS.filter((name) => name !== 'reward')) {
    expect(fieldNames(kind, 'solana')).toEqual(fieldNames(kind, 'ledger'));
    expect(defaultFieldNames(kind, 'solana')).toEqual(defaultFieldNames(kind, 'ledger'));
  }
});

test('default: the fields that are sent without a selector are those of the interface', () => {
  expect(defaultFieldNames('block', 'ledger')).toEqual(['number', 'parentSlot', 'height']);
  expect(defaultFieldNames('log', 'ledger')).not.toContain('kind');
  expect(defaultFieldNames('reward', 'ledger')[0]).toBe('pubKey');
  expect(defaultFieldNames('reward', 'solana')[0]).toBe('pubkey');
  expect(defaultFieldNames('transaction', 'ledger')).toEqual(fieldNames('transaction', 'ledger'));
});

test('behavior: the solana dialect writes all 64-bit quantities as text', () => {
  const quantities = KINDS.flatMap((kind) =>
    fieldRows(kind).flatMap(([name, row]) => (row.wire === 'quantity' ? [`${kind}.${name}`] : [])),
  );
  expect(quantities.join(' ')).toBe(
    'transaction.fee transaction.computeUnitsConsumed instruction.computeUnitsConsumed balance.pre balance.post ' +
      'tokenBalance.preAmount tokenBalance.postAmount reward.lamports reward.postBalance',
  );
});

test('behavior: every item has the filters and flags of the interface', () => {
  const positions = Array.from({ length: 16 }, (_, at) => `a${at}`).join(' ');
  const items: Readonly<Record<string, readonly [filters: string, flags: string]>> = {
    transactions: [
      'feePayer mentionsAccount isCommitted*',
      'instructions balances tokenBalances logs',
    ],
    instructions: [
      `programId d1 d2 d3 d4 d5 d6 d7 d8 discriminator* ${positions} mentionsAccount isCommitted`,
      'transaction transactionBalances transactionTokenBalances transactionInstructions innerInstructions ' +
        'parentInstructions* logs',
    ],
    logs: ['programId kind', 'instruction transaction'],
    balances: ['account', 'transaction transactionInstructions'],
    tokenBalances: [
      'account preProgramId postProgramId preMint postMint preOwner postOwner mint* owner*',
      'transaction transactionInstructions transactionBalances* transactionTokenBalances*',
    ],
    rewards: ['pubkey', ''],
  };
  const names = (rows: readonly (readonly [string, { readonly ext?: true }])[]) =>
    rows.map(([name, row]) => (row.ext === true ? `${name}*` : name)).join(' ');
  for (const array of RECORD_ARRAY_NAMES) {
    expect([names(filterRows(array)), names(relationRows(array))]).toEqual(items[array]);
    expect(names(replacedRows(array))).toBe(array === 'instructions' ? 'name*' : '');
  }
});
