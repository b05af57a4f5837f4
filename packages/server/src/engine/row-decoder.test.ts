import { readdirSync, readFileSync } from 'node:fs';
import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { encodeBase58 } from '@sluice/base/base58';
import type { DecodedLayout } from '@sluice/decode/decoded-layout';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { eventColumnsOf, typedColumnsOf } from '@sluice/decode/program-decoder';
import type { TypedColumns } from '@sluice/decode/typed-layout';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import { parseQuery } from '../query/parse-query.ts';
import type { Query } from '../query/query.ts';
import { selectTable } from '../query/select-table.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { arrowFields } from './arrow/arrow-columns.ts';
import { Engine } from './engine.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

const folder = new URL('../../../../docs/idl/', import.meta.url);
const files = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(new URL(name, folder), 'utf8'),
}));
const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 30, failureRate: 0.1 },
  firstSlot: 500,
  blockCount: 12,
  skipRate: 0.2,
});
const segments = [blocks.slice(0, 5), blocks.slice(5)].map((some) => buildSegment(some));
const swap = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

const plainLayout = { isEvent: false, mints: [] } as const;

const fields = {
  block: { number: true },
  instruction: { transactionIndex: true, instructionAddress: true, programId: true, decoded: true },
  log: { logIndex: true, kind: true, decoded: true },
};

function answers(
  body: object,
  idls: IdlRegistry,
): { readonly fast: string; readonly expected: string } {
  const query = parse(body);
  const fast = answer(query, idls).toString();
  return { fast, expected: answerQuery(query, blocks, idls) };
}

function parse(body: object): Query {
  return parseQuery(
    { fromBlock: 0, fields, ...body },
    { limits: QUERY_LIMITS, dialects: ['ledger'] },
  );
}

function answer(query: Query, idls: IdlRegistry): Buffer {
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.useIdls(idls);
  const keys = segments.map((bytes, i) => {
    const key = `decoded ${i}`;
    engine.open(key, bytes);
    return key;
  });
  return Buffer.concat([...answerSegments(engine, keys, query)]);
}

interface DecodedRow {
  readonly programId: string;
  readonly decoded: {
    readonly name: string | null;
    readonly args?: Readonly<Record<string, unknown>>;
    readonly accounts?: Readonly<Record<string, string | null>>;
    readonly error?: string;
    readonly events?: readonly Omit<DecodedRow['decoded'], 'accounts' | 'events'>[];
  };
}

/** Returns the instructions of the reference, with their decoded form. */
function referenceRows(idls: IdlRegistry): DecodedRow[] {
  const lines = answerQuery(parse({ instructions: [{}] }), blocks, idls)
    .trimEnd()
    .split('\n');
  return lines.flatMap(
    (line) => (JSON.parse(line) as { instructions?: DecodedRow[] }).instructions ?? [],
  );
}

/** Returns the rows of the Arrow table with the columns of an instruction. */
function typedRows(decoded: DecodedLayout, idls: IdlRegistry, addresses: 'text' | 'binary') {
  const arrow = { table: 'instructions', addresses, decoded } as const;
  const query = selectTable(parse({ instructions: [{ programId: [decoded.programId] }] }), arrow);
  const stream = Buffer.concat([encodeSchema(arrowFields(query, arrow)), answer(query, idls)]);
  const table = tableFromIPC(stream);
  return Array.from({ length: table.numRows }, (_, i): Readonly<Record<string, unknown>> => {
    return table.get(i)?.toJSON() ?? {};
  });
}

const eventNames = (idls: IdlRegistry, programId: string) =>
  new Set(idls.descriptions(programId).flatMap(({ events }) => events.map(({ name }) => name)));

/** Returns the IDL of the AMM with other arguments of an instruction. */
function withArguments(name: string, types: readonly string[]): string {
  const idl = JSON.parse(files.find((file) => file.name === 'amm.json')?.text ?? '') as {
    instructions: { name: string; args: { name: string; type: string }[] }[];
  };
  const found = idl.instructions.find((instruction) => instruction.name === name);
  if (found !== undefined) found.args = types.map((type, i) => ({ name: `part_${i}`, type }));
  return JSON.stringify(idl);
}

interface ReferenceBlock {
  readonly instructions?: readonly (DecodedRow & { readonly transactionIndex: number })[];
  readonly tokenBalances?: readonly {
    readonly transactionIndex: number;
    readonly preMint: string | null;
    readonly postMint: string | null;
    readonly preDecimals: number | null;
    readonly postDecimals: number | null;
  }[];
}

/** Returns the events of the reference, with the accounts of their instructions and the decimals of the mints of their transactions. */
function referenceEvents(idls: IdlRegistry, wanted: { programId: string; name: string }) {
  const balance = ['preMint', 'postMint', 'preDecimals', 'postDecimals'].map((name) => [
    name,
    true,
  ]);
  const query = parse({
    fields: { ...fields, tokenBalance: { transactionIndex: true, ...Object.fromEntries(balance) } },
    instructions: [{ programId: [wanted.programId], transactionTokenBalances: true }],
  });
  const lines = answerQuery(query, blocks, idls).trimEnd().split('\n');
  return lines.flatMap((line) => {
    const { instructions = [], tokenBalances = [] } = JSON.parse(line) as ReferenceBlock;
    return instructions.flatMap(({ transactionIndex, decoded: { events = [], accounts = {} } }) => {
      const decimals = new Map<string, number | null>();
      for (const found of tokenBalances.filter(
        (one) => one.transactionIndex === transactionIndex,
      )) {
        if (found.preMint !== null) decimals.set(found.preMint, found.preDecimals);
        if (found.postMint !== null) decimals.set(found.postMint, found.postDecimals);
      }
      return events.flatMap((event, index) =>
        event.name === wanted.name ? [{ index, event, accounts, decimals }] : [],
      );
    });
  });
}

/** Returns whether a row has values, its arguments and its accounts. */
function typedValues(row: Readonly<Record<string, unknown>>, { args, accounts }: TypedColumns) {
  const values = args.map(({ name }) => plain(row[`args_${name}`]));
  const addresses = accounts.map((name) => row[`accounts_${name}`]);
  return [row['decoding_error'] === null, ...values, ...addresses];
}

/** Returns the same from the decoded form. */
function decodedValues(
  decoded: DecodedRow['decoded'],
  wanted: string,
  { args, accounts }: TypedColumns,
) {
  const isIt = decoded.name === wanted && decoded.args !== undefined;
  const values = args.map(({ name }) => (isIt ? plain(decoded.args?.[name]) : null));
  const addresses = accounts.map((name) => (isIt ? (decoded.accounts?.[name] ?? null) : null));
  return [isIt, ...values, ...addresses];
}

/** The value of an argument in a column: texts without quotes, and JSON. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

describe('decoded rows', () => {
  test.each([
    ['all instructions and logs', { instructions: [{}], logs: [{}] }],
    [
      'a program with its calls',
      { instructions: [{ programId: [swap], innerInstructions: true, logs: true }] },
    ],
    ['logs alone', { logs: [{ programId: [swap], kind: ['data'] }] }],
    ['no rows', { instructions: [{ programId: ['Config1111111111111111111111111111111111111'] }] }],
  ])(
    'behavior: the engine gives the same decoded records as the reference for %s',
    (_name, body) => {
      const { fast, expected } = answers(body, new IdlRegistry(files));
      expect(fast).toBe(expected);
      expect(fast.includes('"events":[{"program":"amm"')).toBe(/calls|all/.test(_name));
    },
  );

  test('behavior: an IDL is used only for its slots', () => {
    const middle = blocks[6]?.header.number ?? 0;
    const idls = files.flatMap((file) => [
      {
        ...file,
        name: `${file.name} old`,
        text: file.text.replace('"name": "amm"', '"name": "old"'),
        toSlot: middle - 1,
      },
      { ...file, fromSlot: middle },
    ]);
    const { fast, expected } = answers(
      { instructions: [{ programId: [swap] }] },
      new IdlRegistry(idls),
    );
    expect(fast).toBe(expected);
    for (const line of fast.trimEnd().split('\n')) {
      const { header } = JSON.parse(line) as { header: { number: number } };
      expect(line.includes('"program":"old"')).toBe(
        header.number < middle && line.includes('instructions'),
      );
    }
  });

  test('behavior: without an IDL a program keeps its bytes and says why', () => {
    const { fast, expected } = answers(
      { instructions: [{ programId: [swap] }] },
      new IdlRegistry(),
    );
    expect(fast).toBe(expected);
    expect(fast).toContain(
      '"decoded":{"program":null,"name":null,"error":"no IDL is registered for this program and slot","raw":"0x',
    );
  });

  test('behavior: the columns of an instruction have the values of its decoded form, and the rows of others are null', () => {
    const idls = new IdlRegistry(files);
    const all = referenceRows(idls);
    const kinds = new Set(
      all.flatMap(({ programId, decoded: { name, args } }) =>
        name === null || args === undefined ? [] : `${programId} ${name}`,
      ),
    );
    expect(kinds.size).toBeGreaterThan(15);
    for (const kind of kinds) {
      const [programId = '', name = ''] = kind.split(' ');
      const columns = typedColumnsOf(idls.descriptions(programId), name);
      // Events that a program records by a call to itself are instructions without a name of their own.
      if (columns === undefined) continue;
      const rows = typedRows({ ...plainLayout, programId, name, columns }, idls, 'text');
      const expected = all.filter((row) => row.programId === programId);
      expect(rows.map((row) => typedValues(row, columns))).toEqual(
        expected.map(({ decoded }) => decodedValues(decoded, name, columns)),
      );
    }
  });

  test('behavior: integers of all widths, and what is left to the host, have the values of the decoded form', () => {
    const forms = [
      ['u8', 'i8', 'u16', 'i16', 'u32', 'i32'],
      ['i64', 'u64'],
      ['u8', 'bool', 'u16', 'u32', 'u64'],
      ['u64', 'u64', 'u64'],
    ];
    for (const types of forms) {
      const idls = new IdlRegistry([{ name: 'amm.json', text: withArguments('swap', types) }]);
      const columns = typedColumnsOf(idls.descriptions(swap), 'swap');
      if (columns === undefined) throw new Error('the IDL has the instruction');
      const decoded = { ...plainLayout, programId: swap, name: 'swap', columns };
      const expected = referenceRows(idls).filter(({ programId }) => programId === swap);
      expect(typedRows(decoded, idls, 'text').map((row) => typedValues(row, columns))).toEqual(
        expected.map((row) => decodedValues(row.decoded, 'swap', columns)),
      );
    }
  });

  test('property: the rows of an event equal those in the decoded instructions, with accounts and decimals of mints', () => {
    const idls = new IdlRegistry(files);
    let [eventCount, decimalsCount] = [0, 0];
    for (const { address = '' } of files.map(
      ({ text }) => JSON.parse(text) as { address?: string },
    ))
      for (const name of eventNames(idls, address)) {
        const columns = eventColumnsOf(idls.descriptions(address), name);
        if (columns === undefined) throw new Error('the IDL has the event');
        const mints = columns.accounts.flatMap((account, number) =>
          account.endsWith('mint') ? [{ head: 'accounts', name: account, number } as const] : [],
        );
        const decoded = { programId: address, name, isEvent: true, columns, mints };
        const rows = typedRows(decoded, idls, 'text');
        const expected = referenceEvents(idls, { programId: address, name });
        expect(rows.map((row) => [row['event_index'], ...typedValues(row, columns)])).toEqual(
          expected.map(({ index, event, accounts }) => [
            index,
            ...decodedValues({ ...event, accounts }, name, columns),
          ]),
        );
        for (const { name: mint } of mints)
          expect(rows.map((row) => row[`decimals_accounts_${mint}`])).toEqual(
            expected.map(({ accounts, decimals }) => decimals.get(accounts[mint] ?? '') ?? null),
          );
        eventCount += rows.length;
        decimalsCount += expected.filter(({ decimals }) => decimals.size > 0).length;
      }
    expect(eventCount).toBeGreaterThan(100);
    expect(decimalsCount).toBeGreaterThan(20);
  });

  test('behavior: accounts are bytes if the client wants bytes', () => {
    const idls = new IdlRegistry(files);
    const columns = typedColumnsOf(idls.descriptions(swap), 'swap');
    expect(columns).toBeDefined();
    if (columns === undefined) return;
    const decoded = { ...plainLayout, programId: swap, name: 'swap', columns };
    const texts = typedRows(decoded, idls, 'text');
    const rows = typedRows(decoded, idls, 'binary');
    const isBytes = (value: unknown) => value instanceof Uint8Array && value.length === 32;
    expect(rows.filter((row) => isBytes(row['accounts_pool'])).length).toBeGreaterThan(5);
    for (const [i, row] of rows.entries()) {
      const text = texts[i]?.['accounts_pool'];
      const bytes = row['accounts_pool'];
      expect(bytes instanceof Uint8Array ? encodeBase58(bytes) : bytes).toBe(text);
    }
  });

  test('behavior: a row whose IDL describes other arguments has an error instead of values', () => {
    const middle = blocks[6]?.header.number ?? 0;
    const amm = files.filter(({ name }) => name === 'amm.json');
    const idls = new IdlRegistry([
      ...amm.map((file) => ({
        ...file,
        name: 'old',
        text: file.text.replaceAll('"amount_out_min"', '"least"'),
        toSlot: middle - 1,
      })),
      ...amm.map((file) => ({ ...file, fromSlot: middle })),
    ]);
    const columns = typedColumnsOf(idls.descriptions(swap), 'swap');
    if (columns === undefined) throw new Error('the IDL has the instruction');
    const rows = typedRows(
      { ...plainLayout, programId: swap, name: 'swap', columns },
      idls,
      'text',
    );
    const other = 'the IDL of this slot describes other arguments or accounts';
    const isOld = (row: (typeof rows)[number]) => Number(row['block_slot']) < middle;
    const errors = (wanted: boolean) =>
      new Set(rows.filter((row) => isOld(row) === wanted).map((row) => row['decoding_error']));
    expect(errors(true).has(other)).toBe(true);
    expect(errors(true).has(null)).toBe(false);
    expect(errors(false).has(other)).toBe(false);
    expect(errors(false).has(null)).toBe(true);
  });
});
