/** Compares queries that select `decoded` with the same queries of the raw fields, in one thread. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import type { Query } from '@sluice/server/dist/query/query.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { type Benchmark, quantilesOf, usedMs } from './benchmark.ts';
import { parseBody } from './parse-body.ts';
import { readArgs, readCount } from './read-args.ts';
import { alignTable } from './report-text.ts';
import { simulatedRecords } from './simulated-records.ts';

const cacheBytesMax = 1 << 28;
const warmRunCount = 2;
const transactionsPerBlock = 300;
const firstSlot = 500;
const idlFolder = 'docs/idl';
const amm = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

const queries = {
  'all instructions': { instructions: [{}] },
  'instructions of the AMM': { instructions: [{ programId: [amm] }] },
  'the same, with related records': {
    instructions: [
      {
        programId: [amm],
        transaction: true,
        innerInstructions: true,
        logs: true,
        transactionTokenBalances: true,
      },
    ],
  },
};

const common = { transactionIndex: true, instructionAddress: true, programId: true };
const raw = { accounts: true, data: true };
/** The fields of instructions in each form of a query. */
const forms = [
  { ...common, ...raw },
  { ...common, ...raw, decoded: true },
  { ...common, decoded: true },
];

export const decodingBenchmark: Benchmark = {
  name: 'decoding',
  summary: 'queries with decoded instructions against the same with raw fields, by processor time',
  options: [
    '--blocks N    blocks of the simulated ledger, with 300 transactions each (default 60)',
    '--seed N      its seed (default 1)',
    '--runs N      timed runs of each query (default 7)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const given = readArgs(args, { blocks: text, seed: text, runs: text });
    const blockCount = readCount('blocks', given.blocks, { fallback: 60, min: 1 });
    const seed = readCount('seed', given.seed, { fallback: 1, min: 0 });
    const runCount = readCount('runs', given.runs, { fallback: 7, min: 1 });
    const engine = new Engine({ cacheBytesMax });
    engine.useIdls(readIdls());
    const blocks = simulatedRecords({ seed, transactionsPerBlock }, { firstSlot, blockCount });
    engine.open('corpus', buildSegment([...blocks]));
    print(`${blockCount} blocks of the simulated ledger, seed ${seed}, ${runCount} runs`);
    const rows = [['query', 'raw', 'decoded too', 'ratio', 'decoded instead', 'ratio', 'checksum']];
    for (const [name, body] of Object.entries(queries))
      rows.push([name, ...compare(engine, body, runCount)]);
    for (const line of alignTable(rows)) print(line);
  },
};

function readIdls(): IdlRegistry {
  return new IdlRegistry(
    readdirSync(idlFolder).map((name) => ({
      name,
      text: readFileSync(join(idlFolder, name), 'utf8'),
    })),
  );
}

/** Alternates the forms, so that other load affects all equally. */
function compare(engine: Engine, body: object, runCount: number): string[] {
  const sides = forms.map((instruction) => ({
    query: parseBody({
      fromBlock: 0,
      fields: { block: { number: true }, instruction, log: { logIndex: true, message: true } },
      ...body,
    }),
    samples: [] as number[],
    result: { byteCount: 0, checksum: '' },
  }));
  for (const side of sides) side.result = answer(engine, side.query);
  for (let run = -warmRunCount; run < runCount; run++)
    for (const { query, samples } of sides) {
      const startMs = usedMs();
      for (const _piece of engine.run('corpus', query));
      if (run >= 0) samples.push(usedMs() - startMs);
    }
  const [base = 0, ...others] = sides.map(({ samples }) => quantilesOf(samples).p50);
  const cell = (ms: number, side: number) =>
    `${ms.toFixed(0)} ms, ${((sides[side]?.result.byteCount ?? 0) / 1e6).toFixed(0)} MB`;
  return [
    cell(base, 0),
    ...others.flatMap((ms, i) => [cell(ms, i + 1), `${(ms / base).toFixed(2)} ×`]),
    sides.map(({ result }) => result.checksum).join(' '),
  ];
}

function answer(engine: Engine, query: Query): { byteCount: number; checksum: string } {
  const hash = createHash('sha256');
  let byteCount = 0;
  for (const piece of engine.run('corpus', query)) {
    hash.update(piece);
    byteCount += piece.length;
  }
  return { byteCount, checksum: hash.digest('hex').slice(0, 8) };
}
