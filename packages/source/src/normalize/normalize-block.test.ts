import { isCodedError } from '@sluice/base/errors';
import type { Slot } from '@sluice/ledger/primitives';
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
  slot,
  toBytes,
  toJson,
  u64Max,
} from '../testing/raw-block.ts';
import { normalizeBlock } from './normalize-block.ts';

test('default: a transfer becomes one record of each affected kind', () => {
  const raw = rawBlock(
    [
      rawTransaction({
        instructions: [call(program.system, { accounts: [0, 1], data: '3Bxs411qCLLRMUsZ' })],
        meta: {
          logMessages: ran(program.system),
          preBalances: [100, 50, 1, 1, 1, 1, 1, 1, 1, 1],
          postBalances: [40, 105, 1, 1, 1, 1, 1, 1, 1, 1],
        },
      }),
    ],
    { rewards: [{ pubkey: address(3), lamports: 5, postBalance: 10, rewardType: 'Fee' }] },
  );
  const { block } = normalize(raw);
  expect(block).toEqual({
    header: {
      number: 1000,
      hash: address(60),
      parentSlot: 999,
      parentHash: address(61),
      height: 900,
      timestamp: 1_700_000_000n,
    },
    transactions: [
      {
        transactionIndex: 0,
        version: -1,
        accountKeys: keys,
        addressTableLookups: [],
        numReadonlySignedAccounts: 0,
        numReadonlyUnsignedAccounts: 8,
        numRequiredSignatures: 1,
        recentBlockhash: address(50),
        signatures: [signature(9)],
        err: null,
        fee: 5000n,
        computeUnitsConsumed: 150n,
        loadedAddresses: { readonly: [], writable: [] },
        hasDroppedLogMessages: false,
      },
    ],
    instructions: [
      {
        transactionIndex: 0,
        instructionAddress: [0],
        programId: program.system,
        accounts: [payer, address(2)],
        data: '3Bxs411qCLLRMUsZ',
        error: null,
        computeUnitsConsumed: null,
        isCommitted: true,
        hasDroppedLogMessages: false,
      },
    ],
    logs: [],
    balances: [
      { transactionIndex: 0, account: payer, pre: 100n, post: 40n },
      { transactionIndex: 0, account: address(2), pre: 50n, post: 105n },
    ].sort((a, b) => (a.account < b.account ? -1 : 1)),
    tokenBalances: [],
    rewards: [
      { pubKey: address(3), lamports: 5n, postBalance: 10n, rewardType: 'Fee', commission: null },
    ],
  });
});

test('behavior: 2^53+1 and 2^64-1 are kept in every u64, and lamports may be negative', () => {
  for (const value of [beyondDouble, u64Max, 10n ** 15n, 10n ** 15n - 1n, 0n]) {
    const other = value === 0n ? 1n : value - 1n;
    const token = (amount: bigint) => ({
      accountIndex: 1,
      mint: address(4),
      uiTokenAmount: { amount: String(amount), decimals: 255 },
    });
    const raw = rawBlock(
      [
        rawTransaction({
          meta: {
            fee: value,
            computeUnitsConsumed: value,
            preBalances: [value],
            postBalances: [other],
            preTokenBalances: [token(value)],
            postTokenBalances: [token(other)],
          },
        }),
      ],
      {
        rewards: [{ pubkey: address(3), lamports: -(2n ** 63n), postBalance: value }],
        blockTime: 2n ** 63n - 1n,
      },
    );
    const { block } = normalize(raw);
    expect(block.header.timestamp).toBe(2n ** 63n - 1n);
    expect(block.transactions[0]).toMatchObject({ fee: value, computeUnitsConsumed: value });
    expect(block.balances).toEqual([
      { transactionIndex: 0, account: payer, pre: value, post: other },
    ]);
    expect(block.tokenBalances[0]).toMatchObject({
      preAmount: value,
      postAmount: other,
      preDecimals: 255,
    });
    expect(block.rewards[0]).toMatchObject({ lamports: -(2n ** 63n), postBalance: value });
  }
});

test('behavior: two balances that differ only beyond a double are different', () => {
  const { block } = normalizeOne({
    meta: { preBalances: [beyondDouble], postBalances: [beyondDouble - 1n] },
  });
  expect(block.balances).toEqual([
    { transactionIndex: 0, account: payer, pre: beyondDouble, post: beyondDouble - 1n },
  ]);
  const same = normalizeOne({ meta: { preBalances: [u64Max], postBalances: [u64Max] } });
  expect(same.block.balances).toEqual([]);
});

test('error: a value that is not a u64 or i64 is refused', () => {
  const refused = (meta: RawObject) => refusalOfOne({ meta }).code;
  for (const fee of [u64Max + 1n, -1, 1.5, '5000', '18446744073709551615', true, [], {}]) {
    expect(refused({ fee }), String(fee)).toBe('block-field-invalid');
  }
  for (const text of ['1e999', '1e15', '9007199254740991.4', '-12345678901234567']) {
    const json = toJson(rawBlock([rawTransaction()])).replace('"fee":5000', `"fee":${text}`);
    expect(refusal(json).detail, text).toMatchObject({ field: 'meta.fee' });
  }
  for (const lamports of [2n ** 63n, -(2n ** 63n) - 1n, 'x']) {
    const rewards = [{ pubkey: payer, lamports, postBalance: 1 }];
    expect(refusal(rawBlock([], { rewards })).detail).toMatchObject({
      slot: 1000,
      field: 'rewards.lamports[0]',
    });
  }
  for (const amount of ['', '-1', '1.0', '18446744073709551616', '007', 7, `${'9'.repeat(50)}`]) {
    const preTokenBalances = [
      { accountIndex: 0, mint: payer, uiTokenAmount: { amount, decimals: 0 } },
    ];
    expect(refused({ preTokenBalances }), String(amount)).toBe('block-field-invalid');
  }
});

test('behavior: digits in texts, fractions and exponents are unchanged', () => {
  const message = 'Program log: 12345678901234567890 "12345678901234567890": 12345678901234567890';
  const lines = ran(program.a);
  const { block } = normalizeOne({
    instructions: [call(program.a)],
    meta: {
      logMessages: [lines[0], message, lines[1]],
      preTokenBalances: [
        {
          accountIndex: 0,
          mint: payer,
          uiTokenAmount: {
            amount: '1',
            decimals: 20,
            uiAmount: 1e-20,
            uiAmountString: '0.00000000000000000001',
          },
        },
      ],
    },
  });
  expect(block.logs[0]?.message).toBe(message.slice('Program log: '.length));
  expect(block.tokenBalances[0]).toMatchObject({ preAmount: 1n, preDecimals: 20 });
});

test('behavior: null, absent and empty optional values are the same', () => {
  const token = { accountIndex: 0, mint: address(4), uiTokenAmount: { amount: '1', decimals: 2 } };
  const optionals = (value: unknown) => {
    const or = (empty: unknown) => (value === '' ? empty : value);
    return rawBlock(
      [
        rawTransaction({
          instructions: [call(program.a, { stackHeight: or(null) })],
          message: { addressTableLookups: or([]) },
          meta: {
            err: or(null),
            innerInstructions: or([]),
            logMessages: ran(program.a),
            preTokenBalances: or([]),
            postTokenBalances: [{ ...token, owner: value, programId: value }],
            loadedAddresses: or({}),
            computeUnitsConsumed: or(null),
          },
          version: or('legacy'),
        }),
      ],
      {
        previousBlockhash: or(null),
        blockTime: or(null),
        blockHeight: or(null),
        rewards: [
          {
            pubkey: payer,
            lamports: 1,
            postBalance: 2,
            rewardType: or(null),
            commission: or(null),
          },
        ],
      },
    );
  };
  const { block } = normalize(optionals(null));
  expect(normalize(optionals(undefined)).block).toEqual(block);
  expect(normalize(optionals('')).block).toEqual(block);
  expect(block.header).toMatchObject({ parentHash: null, timestamp: null, height: null });
  expect(block.transactions[0]).toMatchObject({
    version: -1,
    addressTableLookups: [],
    err: null,
    computeUnitsConsumed: null,
    loadedAddresses: { readonly: [], writable: [] },
  });
  expect(block.tokenBalances[0]).toMatchObject({
    postOwner: null,
    postProgramId: null,
    preMint: null,
  });
  expect(block.rewards[0]).toMatchObject({ rewardType: null, commission: null });
});

test('behavior: unknown keys and names of JavaScript properties are plain data', () => {
  const odd = '"__proto__":{"err":"X","transactions":[]},"constructor":1,"toString":null,"new":[]';
  const json = toJson(rawBlock([rawTransaction()]))
    .replaceAll('"fee":', `${odd},"fee":`)
    .replace('"blockhash":', `${odd},"blockhash":`)
    .replace('"signatures":', `${odd},"signatures":`);
  expect(normalize(json)).toEqual(normalize(rawBlock([rawTransaction()])));
  const bare = `{"__proto__":${toJson(rawBlock([]))}}`;
  expect(refusal(bare).code).toBe('block-field-invalid');
});

test('behavior: null, 0, negative and huge times are kept', () => {
  for (const blockTime of [null, 0, -1, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const expected = blockTime === null ? null : BigInt(blockTime);
    expect(normalize(rawBlock([], { blockTime })).block.header.timestamp).toBe(expected);
  }
  expect(refusal(rawBlock([], { blockTime: 2n ** 63n })).detail).toMatchObject({
    field: 'blockTime',
  });
  expect(refusal(rawBlock([], { blockTime: 1.5 })).detail).toMatchObject({ field: 'blockTime' });
});

test('behavior: an unknown height stays null, and slot 0 has height 0 and no parent', () => {
  expect(normalize(rawBlock([], { blockHeight: null })).block.header.height).toBeNull();
  const zero = { parentSlot: 0, blockHeight: null, previousBlockhash: 'anything at all' };
  expect(normalize(rawBlock([], zero), {}, 0 as Slot).block.header).toEqual({
    number: 0,
    hash: address(60),
    parentSlot: 0,
    parentHash: null,
    height: 0,
    timestamp: 1_700_000_000n,
  });
});

test('behavior: a hash of 32 ones is an unknown parent', () => {
  const header = (previousBlockhash: unknown) =>
    normalize(rawBlock([], { previousBlockhash })).block.header;
  expect(header('1'.repeat(32)).parentHash).toBeNull();
  expect(header(undefined).parentHash).toBeNull();
  expect(header(address(9)).parentHash).toBe(address(9));
  expect(refusal(rawBlock([], { previousBlockhash: '1'.repeat(31) })).detail).toMatchObject({
    field: 'previousBlockhash',
  });
});

test('error: a parent at or above the slot is refused, except for slot 0', () => {
  for (const parentSlot of [1000, 1001]) {
    expect(refusal(rawBlock([], { parentSlot })).code).toBe('block-parent-not-below');
  }
  expect(refusal(rawBlock([], { parentSlot: 1 }), {}, 0 as Slot).code).toBe(
    'block-parent-not-below',
  );
  for (const parentSlot of [null, -1, 1.5, '1', 2n ** 64n]) {
    expect(refusal(rawBlock([], { parentSlot })).detail).toMatchObject({
      slot: 1000,
      field: 'parentSlot',
    });
  }
});

test('behavior: rewards may have commission 5.0, unknown types, other case and equal keys', () => {
  const reward = (more: RawObject) => ({ pubkey: payer, lamports: 1, postBalance: 1, ...more });
  const rewards = [
    reward({ rewardType: 'Voting', lamports: 9 }),
    reward({ rewardType: 'Voting', lamports: 2, postBalance: 7 }),
    reward({ rewardType: 'Voting', lamports: 2, postBalance: 3 }),
    reward({ rewardType: 'deactivatedStake' }),
    reward({ rewardType: 'Something new' }),
    reward({ rewardType: null }),
    reward({ rewardType: 'rent', lamports: -4 }),
    reward({ pubkey: program.system, rewardType: 'Voting' }),
  ];
  const { block } = normalize(rawBlock([], { rewards }));
  expect(block.rewards.map((r) => [r.pubKey, r.rewardType, r.lamports, r.postBalance])).toEqual([
    [program.system, 'Voting', 1n, 1n],
    [payer, null, 1n, 1n],
    [payer, 'DeactivatedStake', 1n, 1n],
    [payer, 'Rent', -4n, 1n],
    [payer, 'Something new', 1n, 1n],
    [payer, 'Voting', 2n, 3n],
    [payer, 'Voting', 2n, 7n],
    [payer, 'Voting', 9n, 1n],
  ]);
  const json = toJson(rawBlock([], { rewards: [reward({ commission: 77 })] }));
  const commissionOf = (text: string) =>
    normalize(json.replace('77', text)).block.rewards[0]?.commission;
  expect(commissionOf('5.0')).toBe(5);
  expect(commissionOf('0')).toBe(0);
  expect(commissionOf('null')).toBeNull();
  for (const text of ['5.5', '256', '-1', '"5"']) {
    expect(refusal(json.replace('77', text)).detail).toMatchObject({ field: 'rewards.commission' });
  }
});

test('behavior: the same bytes give the same records', () => {
  const raw = rawBlock(
    [rawTransaction({ instructions: [call(program.a)], meta: { logMessages: ran(program.a) } })],
    { rewards: [{ pubkey: payer, lamports: 1, postBalance: 1, rewardType: 'Fee' }] },
  );
  expect(normalize(raw)).toEqual(normalize(raw));
});

test('error: I-06: a block without one of the kinds is refused instead of stored without it', () => {
  for (const transactions of [undefined, null]) {
    const error = refusal({ ...rawBlock([]), transactions });
    expect([error.code, error.detail['field']]).toEqual(['block-field-missing', 'transactions']);
  }
  for (const rewards of [undefined, null]) {
    const raw = rawBlock([], { rewards });
    expect(refusal(raw).code).toBe('block-kind-missing');
    expect(refusal(raw).detail).toEqual({ slot: 1000, kind: 'rewards' });
    const { block, counts } = normalize(raw, { allowMissing: ['rewards'] });
    expect([block.rewards, counts.missingRewards]).toEqual([[], 1]);
  }
  for (const field of ['preBalances', 'postBalances']) {
    const error = refusalOfOne({ meta: { [field]: undefined } });
    expect([error.code, error.detail['field']]).toEqual(['block-field-missing', `meta.${field}`]);
  }
  expect(refusalOfOne({ meta: { fee: undefined } }).detail).toMatchObject({ field: 'meta.fee' });
});

test('error: I-05, F-07: damaged bytes are refused with a code', () => {
  const json = toJson(rawBlock([rawTransaction()]));
  const codeOf = (bytes: Uint8Array) => {
    try {
      normalizeBlock(slot, bytes);
    } catch (error) {
      return isCodedError(error) ? error.code : String(error);
    }
    return 'taken';
  };
  expect(codeOf(toBytes(json))).toBe('taken');
  expect(codeOf(toBytes(json.replace('legacy', '\\ud800')))).toBe('block-lone-surrogate');
  expect(codeOf(toBytes(`\ufeff${json}`))).toBe('block-not-json');
  expect(codeOf(toBytes(json.slice(0, -1)))).toBe('block-not-json');
  expect(codeOf(toBytes(''))).toBe('block-not-json');
  expect(codeOf(toBytes('null'))).toBe('block-field-invalid');
  expect(codeOf(toBytes('[]'))).toBe('block-field-invalid');
  const broken = toBytes(json);
  broken[json.indexOf('legacy')] = 0xff;
  expect(codeOf(broken)).toBe('block-not-utf8');
});

test('error: F-07: a hash of 0 bytes or 10 MB, or of other characters, is refused', () => {
  for (const blockhash of ['', '1'.repeat(10_000_000), `${address(60)}\r\n`, undefined, 5, null]) {
    expect(refusal(rawBlock([], { blockhash })).detail).toMatchObject({
      slot: 1000,
      field: 'blockhash',
    });
  }
});

test('error: block-field-invalid contains the value found, shortened, and the expected one', () => {
  const found = (field: string, value: unknown) => refusal(rawBlock([], { [field]: value })).detail;
  const expected = 'base58 of 32 bytes';
  expect(found('blockhash', 5)).toMatchObject({ found: '5', expected });
  expect(found('blockhash', null)).toMatchObject({ found: 'null', expected });
  expect(found('blockhash', undefined)).toMatchObject({ found: 'nothing', expected });
  expect(found('blockhash', [1, 2])).toMatchObject({ found: 'a list of 2', expected });
  expect(found('blockhash', {})).toMatchObject({ found: 'an object', expected });
  expect(found('blockhash', 'a\n')).toMatchObject({ found: '"a\\n"', expected });
  expect(found('blockhash', u64Max)).toMatchObject({ found: '18446744073709551615', expected });
  expect(found('blockhash', 'x'.repeat(1_000_000))).toMatchObject({
    found: `"${'x'.repeat(48)}"… (1000000 characters)`,
  });
  expect(found('blockTime', '5')).toMatchObject({
    found: '"5"',
    expected: 'an integer of 64 bits',
  });
  expect(refusalOfOne({ meta: { fee: -1 } }).detail).toMatchObject({
    found: '-1',
    expected: 'an integer of 0 to 2^64-1',
  });
});

test('error: block-field-missing contains the expected value', () => {
  const error = refusal(rawBlock([], { transactions: undefined }));
  expect([error.code, error.detail]).toEqual([
    'block-field-missing',
    { slot: 1000, field: 'transactions', expected: 'a list' },
  ]);
});

test('behavior: I-05: texts are unchanged: NUL, non-BMP characters, line separators, and the character that the parser uses to mark long integers', () => {
  const text = '\u0000 😀 \u2028 \u007f \u007f1234567890123456 é \\u007f';
  const [invoke, success] = ran(program.a);
  const { block } = normalizeOne({
    instructions: [call(program.a)],
    meta: { logMessages: [invoke, `Program log: ${text}`, `\u007f ${text}`, success], fee: u64Max },
  });
  expect(block.logs.map((log) => log.message)).toEqual([text, `\u007f ${text}`]);
  expect(block.transactions[0]?.fee).toBe(u64Max);
});

test('behavior: an option that is undefined means its default', () => {
  const bytes = toBytes(rawBlock([rawTransaction({ meta: null })]));
  const options = { votes: undefined, metaOptional: true, allowMissing: undefined };
  const asGiven = options as unknown as Parameters<typeof normalizeBlock>[2];
  expect(normalizeBlock(slot, bytes, { ...asGiven, bytesMax: undefined as never })).toEqual(
    normalizeBlock(slot, bytes, { metaOptional: true }),
  );
});

test('limit: a block that is too large is refused before it is read', () => {
  const bytes = toBytes(rawBlock([]));
  expect(() => normalizeBlock(slot, bytes, { bytesMax: bytes.length })).not.toThrow();
  expect(() => normalizeBlock(slot, bytes, { bytesMax: bytes.length - 1 })).toThrow(
    expect.objectContaining({ code: 'block-too-large' }),
  );
  const large = new Uint8Array(64 * 1024 * 1024 + 1).fill(0x20);
  expect(() => normalizeBlock(slot, large)).toThrow(
    expect.objectContaining({ code: 'block-too-large' }),
  );
});

test('limit: a reply nested deeper than 64 is refused, and one of 64 is accepted', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const json = (depth: number) => toJson(rawBlock([])).replace('{', `{"extra":${nested(depth)},`);
  expect(normalize(json(63)).block.transactions).toEqual([]);
  expect(refusal(json(64)).code).toBe('block-too-deep');
  expect(refusal('['.repeat(1_000_000)).code).toBe('block-too-deep');
});

test('error: truncated replies and other text are refused', () => {
  const json = toJson(rawBlock([rawTransaction()]));
  for (const text of [
    json.slice(0, 10),
    json.slice(0, -20),
    'upstream error',
    '<html>',
    '"',
    '{}{}',
  ]) {
    expect(refusal(text).code).toBe('block-not-json');
  }
});

test('limit: F-09: a transaction with a million log lines is read completely', () => {
  const [invoke, success] = ran(program.a);
  const lines = Array.from({ length: 1_000_000 }, (_, i) => `Program log: ${i}`);
  const { block } = normalizeOne({
    instructions: [call(program.a)],
    meta: { logMessages: [invoke, ...lines, success] },
  });
  expect(block.logs).toHaveLength(1_000_000);
  expect(block.logs.at(-1)).toMatchObject({ logIndex: 1_000_000, message: '999999' });
});
