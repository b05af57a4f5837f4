/** Decodes damaged instructions and logs of simulated blocks with the kernel, and compares the lines with the reference. */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { eventColumnsOf } from '@sluice/decode/program-decoder';
import type { Block, Instruction, Log } from '@sluice/ledger/block';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import { parseQuery } from '../query/parse-query.ts';
import { selectTable } from '../query/select-table.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { arrowFields } from './arrow/arrow-columns.ts';
import { Engine } from './engine.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

const folder = new URL('../../../../docs/idl/', import.meta.url);
const idls = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(new URL(name, folder), 'utf8'),
}));
const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 12, failureRate: 0.1 },
  firstSlot: 500,
  blockCount: 4,
});
const middle = blocks[2]?.header.number ?? 0;
/** The first program has two IDLs, one after the other, and one program has none. */
const registries: readonly [IdlRegistry, IdlRegistry] = [
  new IdlRegistry(idls),
  new IdlRegistry(
    idls.slice(1).flatMap((idl, i) =>
      i > 0
        ? [idl]
        : [
            { ...idl, name: 'old', toSlot: middle - 1 },
            { ...idl, fromSlot: middle },
          ],
    ),
  ),
];

/** Kinds of damage are numbered from 0 to this. A kind that a function does not handle changes nothing. */
const kindMax = 8;
/** What is done to one of a few rows: the kind of damage, where, and with which bytes. */
const damages = fc.array(
  fc.record({ kind: fc.nat(kindMax), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 40 }) }),
  { minLength: 1, maxLength: 9 },
);
type Damage = { readonly kind: number; readonly at: number; readonly bytes: Uint8Array };

function damageInstruction(instruction: Instruction, { kind, at, bytes }: Damage): Instruction {
  const { accounts } = instruction;
  const data = Buffer.from(decodeBase58(instruction.data) ?? []);
  const withData = (changed: Uint8Array) => ({ ...instruction, data: encodeBase58(changed) });
  switch (kind) {
    case 0:
      return withData(data.subarray(0, at % (data.length + 1)));
    case 1:
      return withData(Buffer.concat([data, bytes]));
    case 2:
      return withData(Buffer.concat([data.subarray(0, 8), bytes]));
    case 3:
      return withData(Buffer.concat([Buffer.from('e445a52e51cb9a1d', 'hex'), bytes]));
    case 4:
      return withData(data.map((byte, i) => (i === at % data.length ? byte ^ 0xff : byte)));
    case 5:
      return { ...instruction, accounts: accounts.slice(0, at % (accounts.length + 1)) };
    case 6:
      return { ...instruction, accounts: [...accounts, ...accounts] };
    default:
      return { ...instruction, accounts: accounts.toReversed() };
  }
}

function damageLog(log: Log, { kind, at, bytes }: Damage): Log {
  const more = Buffer.from(bytes).toString('base64');
  const data = Buffer.from(log.message, 'base64');
  const flipped = data.map((byte, i) => (i === at % data.length ? byte ^ 0xff : byte));
  const messages = [
    log.message.slice(0, at % (log.message.length + 1)),
    `${log.message} ${more}`,
    `${log.message}${more}`,
    more,
    `${log.message} `,
    more.replaceAll('=', ''),
    Buffer.from(bytes).toString('latin1'),
    '',
    Buffer.from(flipped).toString('base64'),
  ];
  return { ...log, message: messages[kind] ?? '' };
}

/** Damages rows evenly: the nth damage is repeated in every row with this remainder. */
function damage(block: Block, all: readonly Damage[]): Block {
  const dataLogs = block.logs.filter(({ kind }) => kind === 'data');
  const pick = (i: number) => {
    const one = i % 2 === 0 ? all[(i / 2) % all.length] : undefined;
    return one === undefined || one.kind > kindMax ? undefined : one;
  };
  return {
    ...block,
    instructions: block.instructions.map((instruction, i) => {
      const one = pick(i);
      return one === undefined ? instruction : damageInstruction(instruction, one);
    }),
    logs: block.logs.map((log) => {
      const one = pick(dataLogs.indexOf(log));
      return log.kind !== 'data' || one === undefined ? log : damageLog(log, one);
    }),
  };
}

const fields = {
  block: { number: true },
  instruction: { transactionIndex: true, instructionAddress: true, decoded: true },
  log: { logIndex: true, decoded: true },
};
const bodies = [
  { instructions: [{}], logs: [{}] },
  { instructions: [{}] },
  { instructions: [{ isCommitted: true, innerInstructions: true, logs: true }] },
  { logs: [{ kind: ['data'] }] },
];

test('property: damaged rows are decoded as by the reference', () => {
  const statistics = { decoded: 0, errors: 0 };
  fc.assert(
    fc.property(
      damages,
      fc.constantFrom(...bodies),
      fc.constantFrom(...registries),
      (all, body, registry) => {
        const damaged = blocks.map((block) => damage(block, all));
        const query = parseQuery(
          { fromBlock: 0, fields, ...body },
          { limits: QUERY_LIMITS, dialects: ['ledger'] },
        );
        const engine = new Engine({ cacheBytesMax: 1 << 24 });
        engine.useIdls(registry);
        engine.open('damaged', buildSegment(damaged));
        const fast = Buffer.concat([...answerSegments(engine, ['damaged'], query)]).toString();
        expect(fast).toBe(answerQuery(query, damaged, registry));
        statistics.decoded += fast.split('"args":').length - 1;
        statistics.errors += fast.split('"error":').length - 1;
      },
    ),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 25) },
  );
  expect(statistics.decoded).toBeGreaterThan(1_000);
  expect(statistics.errors).toBeGreaterThan(1_000);
});

const amm = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const swapAccounts = ['user', 'pool', 'input_mint', 'maker'];

interface DecodedEvent {
  readonly name: string | null;
  readonly args?: Readonly<Record<string, unknown>>;
}
interface DecodedLine {
  readonly instructions?: readonly {
    readonly decoded: {
      readonly accounts?: Readonly<Record<string, string | null>>;
      readonly events?: readonly DecodedEvent[];
    };
  }[];
}

/** Returns the events in the decoded instructions of the reference: their numbers, arguments and accounts. */
function referenceEvents(damaged: readonly Block[], registry: IdlRegistry): unknown[][] {
  const query = parseQuery(
    { fromBlock: 0, fields, instructions: [{ programId: [amm] }] },
    { limits: QUERY_LIMITS, dialects: ['ledger'] },
  );
  const lines = answerQuery(query, damaged, registry).trimEnd().split('\n');
  return lines.flatMap((line) =>
    ((JSON.parse(line) as DecodedLine).instructions ?? []).flatMap(
      ({ decoded: { events = [], accounts = {} } }) =>
        events.flatMap(({ name, args }, index) => {
          if (name !== 'SwapEvent') return [];
          const passed = swapAccounts.map((account) => accounts[account] ?? null);
          return [
            [index, args === undefined, ...eventNames.map((n) => textOf(args?.[n])), ...passed],
          ];
        }),
    ),
  );
}

const eventNames = ['pool', 'user', 'amount_in', 'amount_out', 'fee', 'base_for_quote'];
const textOf = (value: unknown) => (value === null || value === undefined ? null : String(value));

/** Returns the same from the columns of the events. */
function eventRows(damaged: readonly Block[], registry: IdlRegistry): unknown[][] {
  const { args } = eventColumnsOf(registry.descriptions(amm), 'SwapEvent') ?? { args: [] };
  const columns = { args, accounts: swapAccounts };
  const decoded = { programId: amm, name: 'SwapEvent', isEvent: true, columns, mints: [] };
  const arrow = { table: 'instructions', addresses: 'text', decoded } as const;
  const body = {
    fromBlock: 0,
    fields: { block: { number: true } },
    instructions: [{ programId: [amm] }],
  };
  const query = selectTable(
    parseQuery(body, { limits: QUERY_LIMITS, dialects: ['ledger'] }),
    arrow,
  );
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.useIdls(registry);
  engine.open('damaged', buildSegment(damaged));
  const bytes = [...answerSegments(engine, ['damaged'], query)];
  const table = tableFromIPC(Buffer.concat([encodeSchema(arrowFields(query, arrow)), ...bytes]));
  return Array.from({ length: table.numRows }, (_, i) => {
    const row = table.get(i)?.toJSON() ?? {};
    return [
      row['event_index'],
      row['decoding_error'] !== null,
      ...eventNames.map((name) => textOf(row[`args_${name}`])),
      ...swapAccounts.map((name) => row[`accounts_${name}`]),
    ];
  });
}

const flipAt = (kind: number, at: number): Damage => ({ kind, at, bytes: new Uint8Array(0) });

test('property: the columns of damaged events equal the decoded instructions of the reference', () => {
  const statistics = { read: 0, errors: 0 };
  const some = fc.array(
    fc.record({ kind: fc.nat(40), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 40 }) }),
    { minLength: 1, maxLength: 9 },
  );
  fc.assert(
    fc.property(some, (all) => {
      // Most damages have no effect, so that many batches have only rows that the kernel reads.
      const damaged = blocks.map((block) => damage(block, all));
      const rows = eventRows(damaged, registries[0]);
      expect(rows).toEqual(referenceEvents(damaged, registries[0]));
      for (const [, hasError] of rows) statistics[hasError === true ? 'errors' : 'read']++;
    }),
    {
      numRuns: Number(process.env['FUZZ_RUNS'] ?? 25),
      // No damage; data that starts as no event does; a boolean, after two addresses and three amounts, that is neither 0 nor 1.
      examples: [[[flipAt(kindMax + 1, 0)]], [[flipAt(kindMax, 0)]], [[flipAt(kindMax, 96)]]],
    },
  );
  expect(statistics.read).toBeGreaterThan(200);
  expect(statistics.errors).toBeGreaterThan(0);
});
