import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/base/base58';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { Dialect } from '@sluice/protocol/dialect';
import { QUERY_LIMITS, type QueryLimits } from '@sluice/protocol/query-limits';
import { buildQuerySchema } from '@sluice/protocol/query-schema';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { parseQuery, parseQueryBody, parseQuerySteps } from './parse-query.ts';
import { queryKey } from './query-key.ts';

const A = 'So11111111111111111111111111111111111111112';
const B = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

interface Settings {
  readonly limits?: Partial<QueryLimits>;
  readonly dialects?: readonly Dialect[];
}

function parse(body: Uint8Array | string, { limits, dialects = ['ledger'] }: Settings = {}) {
  return parseQueryBody(body, { limits: { ...QUERY_LIMITS, ...limits }, dialects });
}

function parseObject(body: object, settings?: Settings) {
  return parse(JSON.stringify({ fromBlock: 0, ...body }), settings);
}

function refusal(body: Uint8Array | string, settings?: Settings): CodedError {
  try {
    parse(body, settings);
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  return expect.unreachable('the query was accepted');
}

describe('limits', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  test('limit: depth is counted before anything is parsed (F-59, trap: JSON.parse depth)', () => {
    expect(refusal(nested(17)).code).toBe('query-too-deep');
    expect(refusal(nested(16)).code).toBe('query-value-invalid');
    expect(refusal('['.repeat(1_000_000)).code).toBe('query-too-deep');
  });

  test('limit: brackets inside a text do not count as depth', () => {
    const body = JSON.stringify({ fromBlock: 1, parentBlockHash: `"\\${'['.repeat(50)}` });
    expect(parse(body).parentBlockHash).toBe(`"\\${'['.repeat(50)}`);
  });

  test('limit: a body larger than the limit gets 413', () => {
    const body = '{"fromBlock":1}';
    expect(parse(body, { limits: { bodyBytesMax: body.length } }).fromBlock).toBe(1);
    expect(refusal(body, { limits: { bodyBytesMax: body.length - 1 } }).code).toBe(
      'query-too-large',
    );
  });

  test('limit: at most 100 items in all arrays together', () => {
    const items = (count: number) => Array.from({ length: count }, () => ({}));
    parseObject({ logs: items(60), rewards: items(40) });
    const error = refusal(JSON.stringify({ fromBlock: 0, logs: items(60), rewards: items(41) }));
    expect(error.code).toBe('query-items-too-many');
    expect(error.detail).toMatchObject({ path: 'rewards', found: '101' });
  });

  test('limit: at most 1,000 values per list', () => {
    const list = (count: number) =>
      JSON.stringify({ fromBlock: 0, balances: [{ account: Array(count).fill(A) }] });
    expect(parse(list(1000)).balances[0]?.filters.account).toEqual([A]);
    const error = refusal(list(1001));
    expect(error.code).toBe('query-values-too-many');
    expect(error.detail).toMatchObject({ path: 'balances[0].account', found: '1001' });
  });

  test('limit: at most 10,000 values in all lists together', () => {
    const item = { account: Array(1000).fill(A) };
    parseObject({ balances: Array(10).fill(item) });
    const body = { fromBlock: 0, balances: [...Array(10).fill(item), { account: A }] };
    const error = refusal(JSON.stringify(body));
    expect(error.code).toBe('query-values-too-many');
    expect(error.detail).toMatchObject({ path: 'balances[10].account', found: '10001' });
  });
});

describe('block numbers', () => {
  const legal: readonly (readonly [string, number])[] = [
    ['0', 0],
    ['-0', 0],
    ['100', 100],
    ['1e2', 100],
    ['100.0', 100],
    ['1.5e1', 15],
    ['1500e-2', 15],
    ['0e99999', 0],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', Infinity],
    ['9223372036854775807', Infinity],
    ['1e300', Infinity],
  ];
  for (const [text, value] of legal) {
    test(`behavior: fromBlock ${text} is valid`, () => {
      expect(parse(`{"fromBlock": ${text}}`).fromBlock).toBe(value);
      expect(parse(`{"toBlock":${text},"fromBlock":0}`).toBlock).toBe(value);
    });
  }

  test('behavior: equal numbers beyond 2^53 are a range of one (trap: integer)', () => {
    const query = parse('{"fromBlock":9007199254740993,"toBlock":9007199254740993}');
    expect([query.fromBlock, query.toBlock]).toEqual([Infinity, Infinity]);
  });

  test('behavior: a number under another key is not taken for the block number', () => {
    expect(refusal('{"fields":{"fromBlock":1}}').code).toBe('query-key-missing');
    expect(parse('{"parentBlockHash":"fromBlock\\":7,","fromBlock":3}').fromBlock).toBe(3);
  });
});

describe('decoding', () => {
  test('default: a query with only fromBlock follows the ledger and selects no records', () => {
    expect(parse('{"fromBlock":7}')).toEqual({
      fromBlock: 7,
      toBlock: undefined,
      parentBlockHash: undefined,
      dialect: 'ledger',
      includeAllBlocks: false,
      fields: expect.objectContaining({
        block: ['number', 'parentSlot', 'height'],
        log: ['transactionIndex', 'logIndex', 'instructionAddress', 'programId', 'message'],
        reward: ['pubKey', 'lamports', 'postBalance', 'rewardType', 'commission'],
      }),
      transactions: [],
      instructions: [],
      logs: [],
      balances: [],
      tokenBalances: [],
      rewards: [],
    });
  });

  test('behavior: null equals absent for toBlock, parentBlockHash, isCommitted and filter lists', () => {
    const query = parseObject({
      toBlock: null,
      parentBlockHash: null,
      instructions: [
        { programId: null, d8: null, a3: null, discriminator: null, isCommitted: null },
      ],
      logs: [{ kind: null }],
    });
    expect(query).toEqual(parseObject({ instructions: [{}], logs: [{}] }));
    expect(query.instructions[0]?.filters).toEqual({});
  });

  test('behavior: a single string is a list of one', () => {
    const bare = parseObject({
      instructions: [{ programId: A, d1: '0x01' }],
      logs: [{ kind: 'log' }],
    });
    const list = parseObject({
      instructions: [{ programId: [A], d1: ['0x01'] }],
      logs: [{ kind: ['log'] }],
    });
    expect(bare).toEqual(list);
  });

  test('behavior: an empty list is a filter, an absent list is not', () => {
    const [empty] = parseObject({ balances: [{ account: [] }] }).balances;
    expect(empty?.filters.account).toEqual([]);
    const [absent] = parseObject({ balances: [{}] }).balances;
    expect(absent?.filters.account).toBeUndefined();
  });

  test('behavior: lists are sorted and unique, hex is lower case', () => {
    const [item] = parseObject({
      instructions: [
        { programId: [B, A, B], d2: ['0xBb00', '0xAA00', '0xaa00'], discriminator: '0x' },
      ],
    }).instructions;
    expect(item?.filters.programId).toEqual([A, B]);
    expect(item?.filters.d2).toEqual(['0xaa00', '0xbb00']);
    expect(item?.filters.discriminator).toEqual(['0x']);
  });

  test('behavior: flags are booleans, false equals absent', () => {
    const query = parseObject({ transactions: [{ logs: true, balances: false }] });
    expect(query.transactions[0]?.relations).toEqual({
      instructions: false,
      balances: false,
      tokenBalances: false,
      logs: true,
    });
    expect(query).toEqual(parseObject({ transactions: [{ logs: true }] }));
  });

  test('behavior: fields are in wire order; the header always has its number', () => {
    const { fields } = parseObject({
      fields: {
        block: { height: true, hash: true, number: false },
        log: { message: true, kind: true, logIndex: false },
      },
    });
    expect(fields.block).toEqual(['number', 'hash', 'height']);
    expect(fields.log).toEqual(['kind', 'message']);
    expect(fields.instruction).toEqual([]);
  });

  test('behavior: the solana dialect is parsed if the dataset allows it', () => {
    const query = parseObject({ type: 'solana' }, { dialects: ['ledger', 'solana'] });
    expect(query.dialect).toBe('solana');
    expect(query.fields.reward).toEqual([
      'pubkey',
      'lamports',
      'postBalance',
      'rewardType',
      'commission',
    ]);
    expect(parseObject({ type: 'ledger' }).dialect).toBe('ledger');
  });

  test('behavior: any text is a parentBlockHash', () => {
    expect(parseObject({ parentBlockHash: 'wrong on purpose' }).parentBlockHash).toBe(
      'wrong on purpose',
    );
    expect(parseObject({ parentBlockHash: '' }).parentBlockHash).toBe('');
  });

  test('behavior: a value that is already parsed gives the same query', () => {
    const body = { fromBlock: 5, toBlock: 9, logs: [{ programId: A }] };
    const options = { limits: QUERY_LIMITS, dialects: ['ledger'] as const };
    expect(parseQuery(body, options)).toEqual(parse(JSON.stringify(body)));
    expect(() => parseQuery({ fromBlock: Number.NaN }, options)).toThrow(CodedError);
    expect(() => parseQuery(Object.create({ fromBlock: 5 }), options)).toThrow(CodedError);
  });
});

describe('the key of a query', () => {
  test('behavior: equal selections have the same key, regardless of order and range', () => {
    const one = parseObject({
      fromBlock: 1,
      parentBlockHash: 'x',
      fields: { log: { message: true, kind: false } },
      logs: [{ programId: [A, B], transaction: true }, { kind: 'log' }, { kind: ['log'] }],
    });
    const other = parseObject({
      fromBlock: 2,
      toBlock: 3,
      type: 'ledger',
      logs: [{ kind: 'log' }, { transaction: true, instruction: false, programId: [B, A, A] }],
      fields: { log: { message: true }, reward: {} },
    });
    expect(queryKey(one)).toBe(queryKey(other));
    expect(one.logs).toEqual(other.logs);
  });

  const bodies = [
    {},
    { includeAllBlocks: true },
    { type: 'solana' },
    { fields: {} },
    { fields: { log: { message: true } } },
    { logs: [{}] },
    { logs: [{ programId: [] }] },
    { logs: [{ programId: A }] },
    { logs: [{ programId: B }] },
    { logs: [{ programId: [A, B] }] },
    { logs: [{ programId: A }, { programId: B }] },
    { logs: [{ kind: 'log' }] },
    { logs: [{ transaction: true }] },
    { logs: [{ instruction: true }] },
    { balances: [{ account: A }] },
    { instructions: [{ a0: A }] },
    { instructions: [{ a1: A }] },
    { instructions: [{ d1: '0x01' }] },
    { instructions: [{ discriminator: '0x01' }] },
    { instructions: [{ isCommitted: true }] },
    { instructions: [{ isCommitted: false }] },
    { instructions: [{}] },
  ];

  test('behavior: different selections have different keys', () => {
    const keys = bodies.map((body) =>
      queryKey(parseObject(body, { dialects: ['ledger', 'solana'] })),
    );
    expect(new Set(keys).size).toBe(bodies.length);
  });
});

test('behavior: in the dialect solana the first slot is 0 by default, and one list may have all values', () => {
  const dialects = ['ledger', 'solana'] as const;
  const values = Array.from({ length: QUERY_LIMITS.listValueCountMax + 1 }, () => A);
  const query = { type: 'solana', logs: [{ programId: values }] };
  const parsed = parse(JSON.stringify(query), { dialects });
  expect(parsed).toMatchObject({ fromBlock: 0, logs: [{ filters: { programId: [A] } }] });
  const solana = Compile(buildQuerySchema(['solana'], QUERY_LIMITS));
  expect(solana.Check(query)).toBe(true);
  const limits = { valueCountMax: values.length - 1 };
  expect(refusal(JSON.stringify(query), { dialects, limits }).code).toBe('query-values-too-many');
  const { type: _, ...plain } = query;
  expect(refusal(JSON.stringify(plain), { dialects }).code).toBe('query-key-missing');
  const long = JSON.stringify({ ...plain, fromBlock: 0 });
  expect(refusal(long, { dialects }).code).toBe('query-values-too-many');
});

test.each([
  ['ledger', QUERY_LIMITS.listValueCountMax],
  ['solana', QUERY_LIMITS.valueCountMax],
] as const)(
  'limit: no step of parsing the largest query in the dialect %s blocks its thread for 10 ms',
  (type, length) => {
    const list = (item: number) =>
      Array.from({ length }, (_, value) =>
        encodeBase58(createHash('sha256').update(`${item} ${value}`).digest()),
      );
    const items = QUERY_LIMITS.valueCountMax / length;
    const query = {
      type,
      fromBlock: 0,
      instructions: Array.from({ length: items }, (_, item) => ({ mentionsAccount: list(item) })),
    };
    const spare = QUERY_LIMITS.bodyBytesMax - JSON.stringify(query).length;
    const body = new TextEncoder().encode(JSON.stringify(query) + ' '.repeat(spare));
    // CPU time, and the minimum of several runs, so that other load on the machine does not count.
    const longest = Array.from({ length: 8 }, () => longestStepMs(body));
    const text = new TextDecoder().decode(body);
    const parses = Array.from({ length: 8 }, () => spentMs(() => JSON.parse(text)));
    // On a slow machine the limit grows with the time that parsing the same JSON takes.
    expect(Math.min(...longest)).toBeLessThan(Math.max(10, 12 * Math.min(...parses)));
  },
);

test('error: the nearest name comes before the list of allowed names', () => {
  const { message } = refusal('{"fromBlock":1,"toBlok":2}');
  expect(message).toMatch(/found "toBlok", nearest toBlock, allowed type, fromBlock/);
});

/** Returns the CPU time of this process in milliseconds. */
function spentMs(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function longestStepMs(body: Uint8Array): number {
  const steps = parseQuerySteps(body, {
    limits: QUERY_LIMITS,
    dialects: ['ledger', 'solana'],
  });
  let longest = 0;
  for (let isDone = false; !isDone; ) {
    const ms = spentMs(() => {
      isDone = steps.next().done === true;
    });
    longest = Math.max(longest, ms);
  }
  return longest;
}

describe('names of instructions', () => {
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
  const token2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
  const system = '11111111111111111111111111111111';
  const rules = { limits: QUERY_LIMITS, dialects: ['ledger'] } as const;
  const filters = (item: object) =>
    parseQuery({ fromBlock: 0, instructions: [item] }, rules).instructions.map(
      (each) => each.filters,
    );

  test('behavior: a name means the start of the data, in one item for programs with the same start', () => {
    expect(
      filters({ programId: [token, token2022], name: ['transferChecked', 'transfer'] }),
    ).toEqual([{ programId: [token, token2022], discriminator: ['0x03', '0x0c'] }]);
    expect(
      filters({ programId: [token, system], name: ['transfer', 'transferSol'], isCommitted: true }),
    ).toEqual([
      { programId: [system], discriminator: ['0x02000000'], isCommitted: true },
      { programId: [token], discriminator: ['0x03'], isCommitted: true },
    ]);
  });

  test('behavior: a name and a discriminator both have to match', () => {
    const withStart = (discriminator: string) =>
      filters({ programId: token, name: 'transfer', discriminator });
    expect(withStart('0x0301')).toEqual([{ programId: [token], discriminator: ['0x0301'] }]);
    expect(withStart('0x')).toEqual([{ programId: [token], discriminator: ['0x03'] }]);
    expect(withStart('0x04')).toEqual([{ programId: [token], discriminator: [] }]);
  });

  test('error: a name needs a program and must be known', () => {
    expect(() => filters({ name: 'transfer' })).toThrow(
      expect.objectContaining({ code: 'query-key-missing' }),
    );
    expect(() => filters({ programId: token, name: 'transferr' })).toThrow(
      expect.objectContaining({
        code: 'query-name-unknown',
        detail: expect.objectContaining({ nearest: 'transfer' }),
      }),
    );
  });

  test('behavior: a query that decodes has the version of the IDLs in its key, others have not', () => {
    const idls = new IdlRegistry([], 7);
    const key = (fields: object) =>
      queryKey(parseQuery({ fromBlock: 0, fields }, { ...rules, idls }));
    expect(key({ log: { decoded: true } })).toContain('"idls":7');
    expect(key({ log: { message: true } })).not.toContain('idls');
  });
});
