import { base58 } from '@scure/base';
import { expect, test } from 'vitest';
import {
  address,
  beyondDouble,
  call,
  keys,
  normalize,
  normalizeOne,
  payer,
  program,
  type RawObject,
  ran,
  rawBlock,
  rawTransaction,
  refusal,
  refusalOfOne,
  signature,
  type TransactionParts,
  toJson,
  u64Max,
} from '../testing/raw-block.ts';

test('behavior: versions may be legacy, absent, 0, 1 and 7', () => {
  const lookups = [{ accountKey: address(8), writableIndexes: [1], readonlyIndexes: [] }];
  const withLookups = {
    message: { addressTableLookups: lookups },
    meta: { loadedAddresses: { writable: [address(9)], readonly: [] } },
  };
  const versionOf = (parts: TransactionParts) => {
    const { block, counts } = normalizeOne(parts);
    return [block.transactions[0]?.version, counts.unknownVersions];
  };
  expect(versionOf({ version: 'legacy' })).toEqual([-1, 0]);
  expect(versionOf({ version: undefined })).toEqual([-1, 0]);
  expect(versionOf({ version: undefined, message: { addressTableLookups: [] } })).toEqual([-1, 0]);
  expect(versionOf({ ...withLookups, version: undefined })).toEqual([0, 0]);
  expect(versionOf({ ...withLookups, version: 0 })).toEqual([0, 0]);
  expect(versionOf({ version: 1, message: { transactionConfig: { a: 1 } } })).toEqual([1, 0]);
  expect(versionOf({ version: 7 })).toEqual([7, 1]);
  for (const version of ['Legacy', '0', -1, 128, 0.5, 2n ** 60n]) {
    expect(refusalOfOne({ version }).detail).toMatchObject({
      slot: 1000,
      transaction: 0,
      field: 'version',
    });
  }
});

test('behavior: err may be text, an object, nested text, and contain long integers', () => {
  const errOf = (err: unknown) => normalizeOne({ meta: { err } }).block.transactions[0]?.err;
  expect(errOf(null)).toBeNull();
  expect(errOf('AccountNotFound')).toBe('{"AccountNotFound":null}');
  expect(errOf({ InstructionError: [2, { Custom: 6001 }] })).toBe(
    '{"InstructionError":[2,{"Custom":6001}]}',
  );
  expect(errOf({ InstructionError: [0, 'InvalidArgument'] })).toBe(
    '{"InstructionError":[0,"InvalidArgument"]}',
  );
  expect(errOf({ InstructionError: [0, { BorshIoError: 'Unknown' }] })).toBe(
    '{"InstructionError":[0,{"BorshIoError":"Unknown"}]}',
  );
  expect(errOf({ InsufficientFundsForRent: { account_index: 3 } })).toBe(
    '{"InsufficientFundsForRent":{"account_index":3}}',
  );
  expect(errOf({ New: [u64Max, -beyondDouble, '18446744073709551615', true, null, 'é"\n'] })).toBe(
    '{"New":[18446744073709551615,-9007199254740993,"18446744073709551615",true,null,"é\\"\\n"]}',
  );
});

test('error: an err that is not an error is refused', () => {
  for (const err of [5, true, [], u64Max]) {
    expect(refusalOfOne({ meta: { err } }).detail, String(err)).toMatchObject({
      field: 'meta.err',
    });
  }
  const json = toJson(rawBlock([rawTransaction()])).replace('"err":null', '"err":{"A":1e999}');
  expect(refusal(json).detail).toMatchObject({ field: 'meta.err' });
});

test('behavior: texts that look like a marked integer stay texts, next to integers that are marked', () => {
  const text = '\u007f9007199254740993';
  const logMessages = [...ran(program.a).slice(0, 1), text, ...ran(program.a).slice(1)];
  const raw = rawBlock(
    [
      rawTransaction({
        instructions: [call(program.a)],
        meta: { err: { A: [text, u64Max] }, logMessages, fee: u64Max },
      }),
      rawTransaction({ meta: { err: text } }),
    ],
    { rewards: [{ pubkey: address(3), lamports: 5, postBalance: u64Max, rewardType: text }] },
  );
  const { block } = normalize(raw);
  const quoted = JSON.stringify(text);
  expect(block.transactions.map(({ err }) => err)).toEqual([
    `{"A":[${quoted},18446744073709551615]}`,
    `{${quoted}:null}`,
  ]);
  expect(block.transactions[0]?.fee).toBe(u64Max);
  expect(block.logs.map(({ message }) => message)).toEqual([text]);
  expect(block.rewards[0]).toMatchObject({ rewardType: text, postBalance: u64Max });
});

test('error: a quantity written as a text that looks like a marked integer is refused', () => {
  for (const fee of ['\u007f9007199254740993', '\u007f0\u007f9007199254740993']) {
    expect(refusalOfOne({ meta: { fee } }).detail).toMatchObject({ field: 'meta.fee' });
  }
});

test('behavior: meta may be null only with metaOptional', () => {
  const parts = { instructions: [call(program.a, { accounts: [0] }), call(program.b)], meta: null };
  expect(refusalOfOne(parts).code).toBe('block-meta-missing');
  expect(refusalOfOne(parts).detail).toMatchObject({ slot: 1000, transaction: 0 });
  const { block, counts } = normalizeOne(parts, { metaOptional: true });
  expect(counts.missingMeta).toBe(1);
  expect(block.transactions[0]).toMatchObject({
    fee: null,
    err: null,
    computeUnitsConsumed: null,
    hasDroppedLogMessages: true,
  });
  expect(block.instructions).toEqual(
    [program.a, program.b].map((programId, i) => ({
      transactionIndex: 0,
      instructionAddress: [i],
      programId,
      accounts: i === 0 ? [payer] : [],
      data: '',
      error: null,
      computeUnitsConsumed: null,
      isCommitted: null,
      hasDroppedLogMessages: true,
    })),
  );
  expect([block.balances, block.tokenBalances, block.logs]).toEqual([[], [], []]);
});

test('behavior: loaded addresses may have null members, and unresolved lookups are refused', () => {
  const lookups = (writableIndexes: number[]) => ({
    addressTableLookups: [{ accountKey: address(8), writableIndexes, readonlyIndexes: [] }],
  });
  const { block } = normalizeOne({
    version: 0,
    message: lookups([5]),
    meta: { loadedAddresses: { writable: [address(9)], readonly: null } },
  });
  expect(block.transactions[0]?.loadedAddresses).toEqual({ writable: [address(9)], readonly: [] });
  expect(block.transactions[0]?.addressTableLookups).toEqual([
    { accountKey: address(8), writableIndexes: [5], readonlyIndexes: [] },
  ]);
  for (const loadedAddresses of [undefined, null, {}, { writable: null, readonly: [] }]) {
    const error = refusalOfOne({ version: 0, message: lookups([5]), meta: { loadedAddresses } });
    expect(error.detail).toMatchObject({
      slot: 1000,
      transaction: 0,
      field: 'meta.loadedAddresses',
    });
  }
  const empty = normalizeOne({ version: 0, message: lookups([]), meta: { loadedAddresses: null } });
  expect(empty.block.transactions[0]?.addressTableLookups).toHaveLength(1);
});

const voteParts = { instructions: [call(program.vote, { data: '3' })] };

test('behavior: a block may be empty or have only votes', () => {
  const empty = normalize(rawBlock([])).block;
  expect([empty.transactions, empty.instructions, empty.rewards]).toEqual([[], [], []]);
  const votes = normalize(rawBlock([rawTransaction(voteParts), rawTransaction(voteParts)]));
  expect(votes.block.transactions).toEqual([]);
  expect(votes.counts.votesDropped).toBe(2);
});

test('behavior: dropped votes leave gaps in the indexes, and failed votes are votes', () => {
  const failedVote = {
    ...voteParts,
    meta: { err: { InstructionError: [0, { Custom: 1 }] }, logMessages: null },
  };
  const voteAndBudget = {
    instructions: [call(program.computeBudget), call(program.vote)],
    meta: { logMessages: ran(program.computeBudget, program.vote) },
  };
  const raw = rawBlock(
    [voteParts, {}, failedVote, voteAndBudget].map((parts) => rawTransaction(parts)),
  );
  const dropped = normalize(raw);
  expect(dropped.block.transactions.map((t) => t.transactionIndex)).toEqual([1, 3]);
  expect(dropped.block.instructions.map((i) => [i.transactionIndex, i.programId])).toEqual([
    [3, program.computeBudget],
    [3, program.vote],
  ]);
  expect(dropped.counts.votesDropped).toBe(2);
  const kept = normalize(raw, { votes: 'keep' });
  expect(kept.block.transactions.map((t) => t.transactionIndex)).toEqual([0, 1, 2, 3]);
  expect(kept.counts.votesDropped).toBe(0);
});

test('behavior: a vote is dropped before its other values are checked', () => {
  const broken = rawTransaction({ ...voteParts, signatures: ['not base58'], meta: null });
  expect(normalize(rawBlock([broken])).counts.votesDropped).toBe(1);
  expect(refusal(rawBlock([broken]), { votes: 'keep' }).code).toBe('block-meta-missing');
});

test('behavior: a transaction is a vote even if the vote program is a loaded address', () => {
  const parts = (index: number) => ({
    version: 0,
    instructions: [{ programIdIndex: index, accounts: [], data: '' }],
    message: {
      addressTableLookups: [{ accountKey: payer, writableIndexes: [1], readonlyIndexes: [2] }],
    },
    meta: { loadedAddresses: { writable: [address(9)], readonly: [program.vote] } },
  });
  const raw = rawBlock([
    rawTransaction(parts(keys.length + 1)),
    rawTransaction(parts(keys.length)),
  ]);
  const { block, counts } = normalize(raw);
  expect(counts.votesDropped).toBe(1);
  expect(block.transactions.map((t) => t.transactionIndex)).toEqual([1]);
});

test('behavior: program and accounts may be loaded addresses of both kinds', () => {
  const loadedAddresses = { writable: [address(30), address(31)], readonly: [address(32)] };
  const n = keys.length;
  const { block } = normalizeOne({
    version: 0,
    instructions: [{ programIdIndex: n + 2, accounts: [0, n, n + 1, n + 2], data: 'A' }],
    message: {
      addressTableLookups: [{ accountKey: payer, writableIndexes: [1, 2], readonlyIndexes: [3] }],
    },
    meta: {
      loadedAddresses,
      preBalances: [...Array(n).fill(1), 1, 1, 1],
      postBalances: [...Array(n).fill(1), 1, 5, 1],
      logMessages: ran(address(32)),
    },
  });
  expect(block.instructions[0]).toMatchObject({
    programId: address(32),
    accounts: [payer, address(30), address(31), address(32)],
  });
  expect(block.balances).toEqual([
    { transactionIndex: 0, account: address(31), pre: 1n, post: 5n },
  ]);
});

test('error: an index past the list and balance lists of different lengths are refused', () => {
  const n = keys.length;
  const fieldOf = (parts: TransactionParts) => refusalOfOne(parts).detail['field'];
  const instruction = (more: RawObject) => ({ instructions: [call(program.a, more)] });
  expect(fieldOf(instruction({ programIdIndex: n }))).toBe('instruction.programIdIndex');
  expect(fieldOf(instruction({ programIdIndex: -1 }))).toBe('instruction.programIdIndex');
  expect(fieldOf(instruction({ accounts: [0, n] }))).toBe('instruction.accounts[1]');
  expect(fieldOf(instruction({ accounts: [0.5] }))).toBe('instruction.accounts[0]');
  expect(fieldOf(instruction({ accounts: 'A' }))).toBe('instruction.accounts');
  const balances = (pre: number[], post: number[]) => ({
    meta: { preBalances: pre, postBalances: post },
  });
  expect(fieldOf(balances([1, 2], [1]))).toBe('meta.postBalances');
  expect(fieldOf(balances([1], [1, 2]))).toBe('meta.postBalances');
  expect(fieldOf(balances(Array(n + 1).fill(1), Array(n + 1).fill(1)))).toBe('meta.postBalances');
  const token = { accountIndex: n, mint: payer, uiTokenAmount: { amount: '1', decimals: 0 } };
  expect(fieldOf({ meta: { postTokenBalances: [token] } })).toBe(
    'meta.postTokenBalances.accountIndex[0]',
  );
});

test('behavior: balance lists shorter than the key list are accepted', () => {
  const { block } = normalizeOne({ meta: { preBalances: [1], postBalances: [2] } });
  expect(block.balances).toHaveLength(1);
});

test('behavior: instructions may have 0, 16, 17 and 66 accounts and data of any length', () => {
  for (const count of [0, 16, 17, 66]) {
    const accounts = Array.from({ length: count }, (_, i) => i % 2);
    const { block } = normalizeOne({
      instructions: [call(program.a, { accounts })],
      meta: { logMessages: ran(program.a) },
    });
    expect(block.instructions[0]?.accounts).toEqual(accounts.map((i) => keys[i]));
  }
  for (const bytes of [[], [5], [0, 0, 1], [0, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]]) {
    const data = base58.encode(Uint8Array.from(bytes));
    const { block } = normalizeOne({
      instructions: [call(program.a, { data })],
      meta: { logMessages: ran(program.a) },
    });
    expect(block.instructions[0]?.data).toBe(data);
  }
  for (const data of ['0', 'l', 'a b', null, undefined, 5]) {
    const error = refusalOfOne({ instructions: [call(program.a, { data })] });
    expect(error.detail).toMatchObject({ slot: 1000, transaction: 0, field: 'instruction.data' });
  }
});

test('behavior: token balances may have one side, any changed part, or no change', () => {
  const token = (accountIndex: number, n: number, amount: string, decimals: number) => ({
    accountIndex,
    mint: address(n),
    owner: address(n + 1),
    programId: address(n + 2),
    uiTokenAmount: { amount, decimals },
  });
  const { block } = normalizeOne({
    meta: {
      preBalances: [5, 6, 7, 8],
      postBalances: [5, 6, 7, 9],
      preTokenBalances: [token(0, 200, '10', 6), token(1, 210, '11', 7), token(3, 220, '12', 8)],
      postTokenBalances: [token(3, 220, '12', 8), token(1, 230, '13', 9), token(2, 240, '14', 1)],
    },
  });
  const side = (prefix: 'pre' | 'post', n: number | null, amount: bigint, decimals: number) => {
    const at = (offset: number) => (n === null ? null : address(n + offset));
    return {
      [`${prefix}Mint`]: at(0),
      [`${prefix}Owner`]: at(1),
      [`${prefix}ProgramId`]: at(2),
      [`${prefix}Amount`]: n === null ? null : amount,
      [`${prefix}Decimals`]: n === null ? null : decimals,
    };
  };
  const of = (index: number, pre: object, post: object) => ({
    transactionIndex: 0,
    account: keys[index] as string,
    ...pre,
    ...post,
  });
  expect(block.tokenBalances).toEqual(
    [
      of(0, side('pre', 200, 10n, 6), side('post', null, 0n, 0)),
      of(1, side('pre', 210, 11n, 7), side('post', 230, 13n, 9)),
      of(2, side('pre', null, 0n, 0), side('post', 240, 14n, 1)),
      of(3, side('pre', 220, 12n, 8), side('post', 220, 12n, 8)),
    ].sort((a, b) => (a.account < b.account ? -1 : 1)),
  );
  // Native balances that did not change have no record.
  expect(block.balances).toEqual([{ transactionIndex: 0, account: keys[3], pre: 8n, post: 9n }]);
});

test('error: a token account that is listed twice on one side is refused', () => {
  const token = { accountIndex: 1, mint: payer, uiTokenAmount: { amount: '1', decimals: 0 } };
  for (const field of ['preTokenBalances', 'postTokenBalances']) {
    const error = refusalOfOne({ meta: { [field]: [token, token] } });
    expect(error.detail).toMatchObject({ slot: 1000, transaction: 0, field: `meta.${field}[1]` });
  }
});

test('behavior: balances are sorted by account text, few or many', () => {
  for (const count of [3, 200]) {
    const accountKeys = Array.from({ length: count }, (_, i) => address((i * 97 + 5) % 251));
    const { block } = normalizeOne({
      message: { accountKeys },
      meta: { preBalances: accountKeys.map(() => 1), postBalances: accountKeys.map(() => 2) },
    });
    expect(block.balances.map((b) => b.account)).toEqual([...accountKeys].sort());
  }
});

test('error: I-06: a block with a successful transaction without log is refused unless logs may be missing', () => {
  const parts = { instructions: [call(program.a)], meta: { logMessages: null } };
  expect(refusalOfOne(parts).detail).toEqual({ slot: 1000, transaction: 0, kind: 'logs' });
  expect(normalizeOne(parts, { allowMissing: ['logs'] }).counts.missingLogs).toBe(1);
  // The log of a failed transaction or a vote may be missing.
  const failed = { ...parts, meta: { logMessages: null, err: 'AccountNotFound' } };
  expect(normalizeOne(failed).counts.missingLogs).toBe(0);
  const vote = { ...voteParts, meta: { logMessages: null } };
  expect(normalizeOne(vote, { votes: 'keep' }).counts).toMatchObject({
    missingLogs: 0,
    withoutLog: 1,
  });
});

test('error: invalid base58 is refused with the name of the field', () => {
  const bad = `${'1'.repeat(31)}0`;
  const detail = (parts: TransactionParts) => refusalOfOne(parts).detail['field'];
  expect(detail({ signatures: [signature(1), 'x'] })).toBe('transaction.signatures[1]');
  expect(detail({ message: { accountKeys: [payer, bad] } })).toBe('message.accountKeys[1]');
  expect(detail({ message: { accountKeys: [] } })).toBe('message.accountKeys');
  expect(detail({ message: { recentBlockhash: bad } })).toBe('message.recentBlockhash');
  expect(detail({ meta: { loadedAddresses: { writable: [bad] } } })).toBe(
    'meta.loadedAddresses.writable[0]',
  );
  const token = (more: RawObject) => ({
    meta: {
      preTokenBalances: [
        { accountIndex: 0, mint: payer, uiTokenAmount: { amount: '1', decimals: 0 }, ...more },
      ],
    },
  });
  for (const field of ['mint', 'owner', 'programId']) {
    expect(detail(token({ [field]: bad }))).toBe(`meta.preTokenBalances.${field}`);
  }
  expect(detail({ meta: { logMessages: ['a', 5] } })).toBe('meta.logMessages[1]');
  expect(detail({ meta: { logMessages: [u64Max] } })).toBe('meta.logMessages[0]');
});
