import type { ProgramInterface } from '@sluice/client';
import { expect, test } from 'vitest';
import { planColumns } from './column-plan.ts';
import { buildWriter } from './column-types.ts';
import { FieldBuffer } from './postgres/field-buffer.ts';
import { explain } from './postgres/postgres-errors.ts';
import { buildFieldWriter, OutOfRange } from './postgres/write-value.ts';
import { shiftDecimals } from './read-value.ts';
import type { PlainBlock } from './row-builder.ts';
import { splitRange } from './sync-table.ts';
import { planTable } from './table-plan.ts';
import { parseTablesFile, specOfProgram, specOfReadyTable, type TableSpec } from './table-spec.ts';

const programId = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const amm: ProgramInterface = {
  programId,
  program: 'amm',
  instructions: [
    {
      name: 'swap',
      args: [
        { name: 'amountIn', type: 'u64' },
        { name: 'slot', type: 'u16' },
        { name: 'limits', type: 'struct', fields: [{ name: 'low', type: 'i64' }] },
      ],
      accounts: ['user', 'pool', 'group.mint'],
    },
  ],
  events: [{ name: 'Filled', args: [{ name: 'price', type: 'f64' }] }],
};

const plan = (spec: TableSpec) => planTable(spec, async () => amm);

function specWith(columns: Readonly<Record<string, unknown>>, more = {}): TableSpec {
  const instructions = [{ programId, name: 'swap' }];
  const text = JSON.stringify({ tables: { swaps: { instructions, columns, ...more } } });
  return parseTablesFile(text)[0] as TableSpec;
}

const none = { balances: [], logs: [], rewards: [] };

const block: PlainBlock = {
  header: { number: 7, hash: 'h', timestamp: 1_767_225_600n },
  transactions: [{ transactionIndex: 3, signatures: ['sig', 'other'], fee: 18446744073709551615n }],
  instructions: [
    {
      transactionIndex: 3,
      instructionAddress: [2, 0],
      decoded: {
        program: 'amm',
        name: 'swap',
        args: { amountIn: '18446744073709551615', slot: 9, limits: { low: -5 } },
        accounts: { user: 'U', pool: null, 'group.mint': 'M' },
        events: [
          { program: 'amm', name: 'Other', args: {} },
          { program: 'amm', name: 'Filled', args: { price: 1.5 } },
        ],
      },
    },
  ],
  tokenBalances: [
    { transactionIndex: 3, preMint: null, preDecimals: null, postMint: 'M', postDecimals: 6 },
    { transactionIndex: 4, preMint: 'M', preDecimals: 9, postMint: 'M', postDecimals: 9 },
  ],
  ...none,
};

test('default: an instruction has its key, time, signature, arguments and accounts, and taken names get a prefix', async () => {
  const { columns, query, rowsOf, name } = await plan(
    specOfProgram({ table: 'swaps', programId, instruction: 'swap' }),
  );
  expect(name).toBe('public.swaps');
  expect(columns.map((column) => `${column.name} ${column.type.sql}`)).toEqual([
    'slot bigint',
    'transaction_index bigint',
    'instruction_address integer[]',
    'block_time timestamptz',
    'signature text',
    'amount_in numeric(20)',
    'arg_slot integer',
    'limits jsonb',
    'account_user text',
    'pool text',
    'group_mint text',
  ]);
  expect(query).toEqual({
    fields: {
      block: { number: true, timestamp: true },
      transaction: { signatures: true, transactionIndex: true },
      instruction: { transactionIndex: true, instructionAddress: true, decoded: true },
      log: {},
      balance: {},
      tokenBalance: {},
      reward: {},
    },
    instructions: [{ programId, name: 'swap', isCommitted: true, transaction: true }],
  });
  expect(rowsOf(block)).toEqual([
    [7, 3, [2, 0], 1_767_225_600n, 'sig', '18446744073709551615', 9, { low: -5 }, 'U', null, 'M'],
  ]);
});

test('behavior: columns are members of structs, shifted by the decimals of a mint, and of the chosen type', async () => {
  const { columns, query, rowsOf } = await plan(
    specWith(
      {
        low: 'args.limits.low',
        amount: 'shift(args.amountIn, decimals(accounts.group.mint))',
        fee: { value: 'shift(transaction.fee, 9)', type: 'numeric(20, 9)' },
        mint: { value: 'accounts.group.mint', type: 'bytea' },
      },
      { indexes: [['mint', 'slot'], 'low'] },
    ),
  );
  expect(columns.slice(3).map(({ type }) => type.sql)).toEqual([
    'bigint',
    'numeric',
    'numeric(20, 9)',
    'bytea',
  ]);
  expect(query.instructions).toEqual([
    { programId, name: 'swap', transaction: true, transactionTokenBalances: true },
  ]);
  expect(rowsOf(block)[0]?.slice(3)).toEqual([
    -5,
    '18446744073709.551615',
    '18446744073.709551615',
    'M',
  ]);
});

test('behavior: each event of the name is a row with its position, and the query has no name', async () => {
  const { columns, query, rowsOf } = await plan(
    specOfProgram({ table: 'fills', programId, event: 'Filled' }),
  );
  expect(query.instructions).toEqual([{ programId, isCommitted: true, transaction: true }]);
  expect(columns.map(({ name }) => name)).toContain('event_index');
  expect(rowsOf(block)).toEqual([[7, 3, [2, 0], 1, 1_767_225_600n, 'sig', 1.5]]);
});

test('default: ready-made tables have the fields of their records, and blocks a row for each block', async () => {
  const balances = await plan(specOfReadyTable('raw.token_balances') as TableSpec);
  expect(balances.name).toBe('raw.token_balances');
  expect(balances.columns.map(({ name }) => name)).toEqual(
    'slot transaction_index account block_time pre_mint post_mint pre_decimals post_decimals pre_program_id post_program_id pre_owner post_owner pre_amount post_amount'.split(
      ' ',
    ),
  );
  const blocks = await plan(specOfReadyTable('blocks') as TableSpec);
  expect(blocks.query.includeAllBlocks).toBe(true);
  expect(blocks.rowsOf(block)).toHaveLength(1);
  const rewards = await plan(specOfReadyTable('rewards') as TableSpec);
  const rows = rewards.rowsOf({ ...block, rewards: [{ pubKey: 'a' }, { pubKey: 'a' }] });
  expect(rows.map(([slot, index]) => [slot, index])).toEqual([
    [7, 0],
    [7, 1],
  ]);
});

test.each([
  [
    'an unknown argument, with the nearest',
    { a: 'args.amountOut' },
    'sync-value-unknown',
    'nearest args.amountIn',
  ],
  [
    'a text that is no expression',
    { a: 'shift(args.amountIn' },
    'sync-value-unknown',
    'known args.amountIn',
  ],
  [
    'the shift of a text',
    { a: 'shift(accounts.user, 2)' },
    'sync-value-unknown',
    'shift(VALUE, DIGITS)',
  ],
  [
    'a type that does not fit',
    { a: { value: 'accounts.user', type: 'bigint' } },
    'sync-type-unfit',
    'allowed text, bytea',
  ],
  ['a column of the key', { slot: 'block.number' }, 'sync-tables-invalid', 'transaction_index'],
  ['a name that needs quotes', { 'A b': 'args.slot' }, 'sync-tables-invalid', 'lower-case'],
])('error: %s', async (_, columns, code, text) => {
  const failure = await (async () => plan(specWith(columns)))().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code });
  expect(String(failure)).toContain(text);
});

test('error: sync-tables-invalid for an item with a relation, which would add rows that it does not select', async () => {
  const items = [{ programId, innerInstructions: true }];
  await expect(plan({ ...specOfProgram({ table: 'a', programId }), items })).rejects.toMatchObject({
    code: 'sync-tables-invalid',
    detail: { found: 'innerInstructions' },
  });
});

test('error: a name that the IDL does not have, a program without an IDL, and an index of an unknown column', async () => {
  const swaps = specOfProgram({ table: 'a', programId, instruction: 'swop' });
  await expect(plan(swaps)).rejects.toMatchObject({
    code: 'sync-name-unknown',
    detail: { nearest: 'swap', known: 'swap' },
  });
  await expect(planTable(swaps, async () => null)).rejects.toMatchObject({
    code: 'sync-idl-missing',
  });
  await expect(plan(specWith({ a: 'slot' }, { indexes: ['b'] }))).rejects.toMatchObject({
    code: 'sync-tables-invalid',
  });
});

const names = (count: number, write: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => write(i)).join(', ');

test.each([
  ['not YAML', 'tables: ['],
  ['no tables', 'tables: {}'],
  ['an unknown key', 'tables: { a: { logs: [{}], colums: {} } }'],
  ['two queries', 'tables: { a: { logs: [{}], rewards: [{}] } }'],
  ['no query, of a table that is not ready-made', 'tables: { a: {} }'],
  ['a name with a capital', 'tables: { A: { logs: [{}] } }'],
  ['a slot that is not one', 'tables: { logs: { fromBlock: x } }'],
  ['too many tables', `tables: { ${names(201, (i) => `a${i}: { logs: [{}] }`)} }`],
  [
    'too many columns',
    `tables: { a: { logs: [{}], columns: { ${names(1_001, (i) => `c${i}: slot`)} } } }`,
  ],
  ['too many indexes', `tables: { logs: { indexes: [${names(51, () => 'slot')}] } }`],
  ['too many items', `tables: { a: { logs: [${names(1_001, () => '{}')}] } }`],
])('error: sync-tables-invalid for a file with %s', (_, text) => {
  expect(() => parseTablesFile(text)).toThrow(
    expect.objectContaining({ code: 'sync-tables-invalid' }),
  );
});

test('behavior: values keep every digit, and special characters are escaped for COPY', () => {
  const write = (form: Parameters<typeof buildWriter>[0]['form'], sql: string, value: unknown) =>
    buildWriter({ form, sql })(value);
  expect(write('text', 'text', 'a\tb\\c\nd\0')).toBe('a\\tb\\\\c\\nd\ufffd');
  expect(write('json', 'jsonb', { a: 18446744073709551615n, b: '"\0' })).toBe(
    '{"a":18446744073709551615,"b":"\\\\"\ufffd"}',
  );
  expect(write('hex', 'bytea', '0x0aff')).toBe('\\\\x0aff');
  expect(write('base58', 'bytea', '1112')).toBe('\\\\x00000001');
  expect(write('integers', 'integer[]', [2, 0])).toBe('{2,0}');
  expect(write('seconds', 'timestamptz', 1_767_225_600n)).toBe('2026-01-01T00:00:00.000Z');
  expect(write('boolean', 'boolean', false)).toBe('f');
  expect(write('number', 'numeric(20)', null)).toBe('\\N');
});

test.each([
  ['1', 6, '0.000001'],
  ['-1234567', 6, '-1.234567'],
  [5, 0, '5'],
  [5, -2, '500'],
  [null, 2, null],
  ['5', null, null],
])('behavior: %s shifted by %s digits is %s', (amount, digits, expected) => {
  expect(shiftDecimals(amount, digits)).toBe(expected);
});

test('behavior: a range is divided into spans without gaps, at most one for each slot', () => {
  expect(splitRange(10, 12, 8).map(({ first, last }) => [first, last])).toEqual([
    [10, 10],
    [11, 11],
    [12, 12],
  ]);
  expect(splitRange(0, 9, 3).map(({ first, last }) => [first, last])).toEqual([
    [0, 2],
    [3, 5],
    [6, 9],
  ]);
  expect(splitRange(5, 4, 3)).toEqual([]);
});

test('behavior: simple arguments and accounts of one instruction are read as columns, without the decoded form', async () => {
  const columns = planColumns(
    await plan(
      specWith({ amount: 'args.amountIn', user: 'accounts.user', sig: 'transaction.signature' }),
    ),
  );
  expect(columns?.parameters['decoded']).toBe(`${programId}.swap`);
  expect(columns?.origins.slice(3)).toEqual([
    { kind: 'column', name: 'args_amountIn' },
    { kind: 'column', name: 'accounts_user' },
    { kind: 'column', name: 'signature' },
  ]);
  expect(columns?.query.fields?.instruction).not.toHaveProperty('decoded');
});

test('behavior: a member of a value is read from the column of the value, and only the decoded form as a whole needs its field', async () => {
  const columns = planColumns(
    await plan(specWith({ amount: 'args.amountIn', low: 'args.limits.low' })),
  );
  expect(columns?.parameters['decoded']).toBe(`${programId}.swap`);
  expect(columns?.origins.slice(3)).toMatchObject([{ kind: 'column' }, { kind: 'computed' }]);
  expect(columns?.query.fields?.instruction).not.toHaveProperty('decoded');
  const whole = planColumns(await plan(specWith({ amount: 'args.amountIn', all: 'args' })));
  expect(whole?.parameters['decoded']).toBe(`${programId}.swap`);
  expect(whole?.query.fields?.instruction).toHaveProperty('decoded', true);
});

test('behavior: events and decimals are read as columns, with the accounts that are needed', async () => {
  const shown = 'shift(args.amountIn, decimals(accounts.user))';
  const swaps = planColumns(await plan(specWith({ shown })));
  expect(swaps?.parameters).toEqual({
    ...{ table: 'instructions', decoded: `${programId}.swap` },
    decimals: 'accounts.user',
  });
  const [event = { name: '' }] = amm.events;
  const events = [{ programId, name: event.name }];
  const spec = { ...specWith({ who: 'accounts.user' }), source: 'events', items: events } as const;
  expect(planColumns(await plan(spec))?.parameters).toEqual({
    ...{ table: 'instructions', event: `${programId}.${event.name}` },
    accounts: 'user',
  });
  const all = { ...spec, items: [{ programId }] };
  expect(planColumns(await plan(all))).toBeUndefined();
});

test.each([
  ['the IDLs describe it in several ways', { isVaried: true } as const, {}],
  [
    'the rows are several instructions',
    {},
    { instructions: [{ programId, name: ['swap', 'swap2'] }] },
  ],
])('behavior: the decoded form is used if %s', async (_name, change, more) => {
  const [swap] = amm.instructions;
  if (swap === undefined) throw new Error('the program has an instruction');
  const instructions = [
    { ...swap, ...change },
    { ...swap, name: 'swap2' },
  ];
  const spec = specWith({ amount: 'args.amountIn' }, more);
  const columns = planColumns(await planTable(spec, async () => ({ ...amm, instructions })));
  expect(columns?.parameters).not.toHaveProperty('decoded');
  expect(columns?.origins.at(-1)?.kind).toBe('computed');
  expect(columns?.query.fields?.instruction).toHaveProperty('decoded', true);
});

test.each([
  [5, 0],
  [0, 6],
  [1, 6],
  [99_999_999, 4],
  [1_234_567, 5],
  [Number.MAX_SAFE_INTEGER, 12],
  [Number.MAX_SAFE_INTEGER, 1],
  [1_000_000_000_000, 12],
])('property: %s shifted by %s digits is written as its decimal text is', (value, digits) => {
  const [fast, slow] = [new FieldBuffer(), new FieldBuffer()];
  fast.writeSafeNumeric(value, digits);
  slow.writeNumeric(shiftDecimals(value, digits) ?? '');
  expect(readNumeric(fast.bytes)).toEqual(readNumeric(slow.bytes));
});

/** Returns the value of the first numeric as digits of base 10,000 with their weights, and the number of decimal places. */
function readNumeric(bytes: Uint8Array) {
  // After the length of the field.
  const field = Buffer.from(bytes).subarray(4);
  const weight = field.readInt16BE(2);
  const digits = Array.from({ length: field.readInt16BE(0) }, (_, i) => {
    return [weight - i, field.readInt16BE(8 + i * 2)] as const;
  });
  return [digits.filter(([, digit]) => digit !== 0), field.readInt16BE(6)];
}

test('error: a value that does not fit the type of its column names the column and the types that do', () => {
  const write = buildFieldWriter({ form: 'number', sql: 'integer' });
  expect(() => write(10_000_000_000, new FieldBuffer())).toThrow(OutOfRange);
  const explained = new OutOfRange(10_000_000_000, 'integer').inColumn('amount');
  expect(String(explained)).toMatch(/column amount: value 10000000000 .*such as numeric/);
});

test('behavior: a server that is starting is reported as one that cannot be reached', () => {
  const starting = Object.assign(new Error('the database system is starting up'), {
    code: '57P03',
  });
  expect(explain(starting, 'postgres://a/b')).toMatchObject({
    code: 'sync-target-unreachable',
    detail: { reason: 'the database system is starting up' },
  });
});
