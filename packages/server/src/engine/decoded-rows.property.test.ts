/** Decodes damaged instructions and logs of simulated blocks with the kernel, and compares the lines with the reference. */
import { readdirSync, readFileSync } from 'node:fs';
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { Block, Instruction, Log } from '@sluice/ledger/block';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import { parseQuery } from '../query/parse-query.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
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
const registries = [
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

/** What is done to one of a few rows: the kind of damage, where, and with which bytes. */
const damages = fc.array(
  fc.record({ kind: fc.nat(7), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 40 }) }),
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
  const messages = [
    log.message.slice(0, at % (log.message.length + 1)),
    `${log.message} ${more}`,
    `${log.message}${more}`,
    more,
    `${log.message} `,
    more.replaceAll('=', ''),
    Buffer.from(bytes).toString('latin1'),
    '',
  ];
  return { ...log, message: messages[kind] ?? '' };
}

/** Damages rows evenly: the nth damage is repeated in every row with this remainder. */
function damage(block: Block, all: readonly Damage[]): Block {
  const dataLogs = block.logs.filter(({ kind }) => kind === 'data');
  const pick = (i: number) => (i % 2 === 0 ? all[(i / 2) % all.length] : undefined);
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
