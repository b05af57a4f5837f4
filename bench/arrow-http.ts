/**
 * Compares the rows per second of Arrow tables with those of JSON lines over HTTP, by the processor time of a service in its default
 * configuration: what reading the ledger, writing, compressing and sending take.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import { encodeBase58 } from '@sluice/base/base58';
import { ARROW_STREAM_TYPE, type ArrowTable } from '@sluice/protocol/arrow-table';
import { type Benchmark, quantilesOf } from './benchmark.ts';
import { corpusBlocks } from './corpus-blocks.ts';
import { makeQueries } from './first-scan/make-queries.ts';
import { readArgs, readCount } from './read-args.ts';
import { alignTable } from './report-text.ts';
import { datasetName, ServiceProcess } from './service/processes.ts';
import { ScenarioFailure } from './service/scenario.ts';
import { importSimulated, prepareStoredData } from './service/stored-data.ts';
import { linesOf, type QueryBody, tablesOf } from './table-bodies.ts';

const encodings = ['identity', 'gzip'] as const;
type Encoding = (typeof encodings)[number];
const firstSlot = 1_000;
const sampleBlockCount = 12;
/** A sample has several responses if they are short. */
const sampleSeconds = 0.02;

interface Side {
  readonly table: ArrowTable | undefined;
  readonly body: QueryBody;
  /** The processor time of each response, by sample. */
  readonly ms: number[];
  sentBytes: number;
}

/** A table, and lines with the same rows. */
interface Pair {
  readonly table: ArrowTable;
  readonly arrow: Side;
  readonly json: Side;
  readonly rowCount: number;
}

interface Service {
  readonly service: ServiceProcess;
  readonly encoding: Encoding;
}

export const arrowHttpBenchmark: Benchmark = {
  name: 'arrow-http',
  summary:
    'rows of Arrow tables over HTTP against those of JSON lines, by processor time of the service',
  options: [
    '--blocks N    blocks of the simulated ledger (default 40)',
    '--seed N      its seed (default 1)',
    '--runs N      samples of each response (default 5)',
    '--only Q      one of the queries (default: all)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const values = readArgs(args, { blocks: text, seed: text, runs: text, only: text });
    const runCount = readCount('runs', values.runs, { fallback: 5, min: 1 });
    const seed = readCount('seed', values.seed, { fallback: 1, min: 0 });
    const blockCount = readCount('blocks', values.blocks, { fallback: 40, min: 2 });
    const stored = { seed, profile: '2025', firstSlot, blockCount } as const;
    const data = await prepareStoredData({
      name: `arrow-${blockCount}`,
      seed,
      make: (folder) => importSimulated(folder, stored),
    });
    const sample = [...corpusBlocks({ seed, blockCount: sampleBlockCount })];
    const queries = makeQueries({ sample, hasRareAccount: false }).filter(
      ({ name, isOfAllBlocks }) => !isOfAllBlocks && (values.only ?? name) === name,
    );
    const range = { fromBlock: firstSlot, toBlock: firstSlot + blockCount - 1 };
    print(`${blockCount} blocks of the simulated ledger, seed ${seed}, ${runCount} samples`);
    const service = await ServiceProcess.start(data);
    try {
      for (const encoding of encodings) {
        const heading = ['query', 'rows', 'lines ms', 'tables ms', 'rate', 'same rows', 'bytes'];
        const rows = [[...heading, 'same rows, each table']];
        for (const { name, body } of queries) {
          const cells = await compare({ service, encoding }, { ...body, ...range }, runCount);
          rows.push([name, ...cells]);
        }
        print(encoding);
        for (const line of alignTable(rows)) print(line);
      }
    } finally {
      await service.process.stop();
    }
  },
};

/** Alternates the sides, so that other load affects all equally. */
async function compare(service: Service, body: QueryBody, runCount: number): Promise<string[]> {
  const { fromBlock, toBlock } = body;
  const side = (each: QueryBody, table?: ArrowTable): Side => ({
    ...{ table, ms: [], sentBytes: 0 },
    body: { ...each, fromBlock, toBlock },
  });
  const lines = side(body);
  const tables: Pair[] = [];
  for (const table of tablesOf(body)) {
    const pair = { table, arrow: side(body, table), json: side(linesOf(body, table)) };
    const rowCount = await countRows(service, pair.arrow);
    if (rowCount > 0) tables.push({ ...pair, rowCount });
  }
  for (let run = -1; run < runCount; run++)
    for (const each of [lines, ...tables.flatMap(({ arrow, json }) => [arrow, json])])
      await takeSample(service, each, run >= 0);
  const ms = (each: Side) => quantilesOf(each.ms).p50;
  const sum = (of: (table: (typeof tables)[number]) => number) =>
    tables.reduce((total, table) => total + of(table), 0);
  const times = (value: number) => `${value.toFixed(2)} ×`;
  const [arrowMs, jsonMs] = [sum(({ arrow }) => ms(arrow)), sum(({ json }) => ms(json))];
  return [
    String(sum(({ rowCount }) => rowCount)),
    ms(lines).toFixed(1),
    arrowMs.toFixed(1),
    times(ms(lines) / arrowMs),
    times(jsonMs / arrowMs),
    times(sum(({ arrow }) => arrow.sentBytes) / lines.sentBytes),
    tables.map(({ table, arrow, json }) => `${table} ${times(ms(json) / ms(arrow))}`).join(', '),
  ];
}

async function takeSample(target: Service, side: Side, isCounted: boolean): Promise<void> {
  const startSeconds = usedSeconds(target.service);
  let count = 0;
  let seconds = 0;
  for (; seconds < sampleSeconds; count++) {
    const bytes = await send(target, side);
    side.sentBytes = bytes.reduce((sum, { length }) => sum + length, 0);
    seconds = usedSeconds(target.service) - startSeconds;
  }
  if (isCounted) side.ms.push((seconds * 1e3) / count);
}

/**
 * Returns the processor time of the threads of a service. Linux counts it exactly here; elsewhere it counts ticks of the clock, of which a short
 * response has none or one.
 */
function usedSeconds({ process }: ServiceProcess): number {
  const folder = `/proc/${process.pid}/task`;
  const timeOf = (thread: string) =>
    Number(readFileSync(`${folder}/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e9;
  return readdirSync(folder).reduce((sum, thread) => sum + timeOf(thread), 0);
}

async function countRows(target: Service, side: Side): Promise<number> {
  const bytes = Buffer.concat(await send(target, side));
  const reader = new ArrowStreamReader();
  const plain = target.encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  return reader.push(plain).reduce((sum, { length }) => sum + length, 0);
}

/** An address filter of each array that the queries have items of. */
const addressFilters = {
  transactions: 'feePayer',
  instructions: 'programId',
  tokenBalances: 'account',
};

/**
 * Adds items that match nothing, so that no query is repeated: the service caches repeated answers. They have the relations of the others, so
 * that every table needs them.
 */
function makeUnique(body: QueryBody): QueryBody {
  const address = encodeBase58(randomBytes(32));
  const added = Object.entries(addressFilters).flatMap(([array, filter]) => {
    const items = (body[array] ?? []) as readonly Readonly<Record<string, unknown>>[];
    const relations = items.flatMap((item) =>
      Object.entries(item).filter(([, value]) => value === true),
    );
    const { isCommitted: _, ...names } = Object.fromEntries(relations);
    return items.length === 0 ? [] : [[array, [...items, { ...names, [filter]: [address] }]]];
  });
  return { ...body, ...Object.fromEntries(added) };
}

/** Returns the body of a response as it was sent. */
async function send({ service, encoding }: Service, { table, body }: Side): Promise<Buffer[]> {
  const parameters = table === undefined ? '' : `?table=${table}`;
  const path = `/datasets/${datasetName}/stream${parameters}`;
  const accept = table === undefined ? 'application/jsonl' : ARROW_STREAM_TYPE;
  const headers = { 'content-type': 'application/json', accept, 'accept-encoding': encoding };
  const sent = request({ port: service.port, method: 'POST', path, headers });
  sent.end(JSON.stringify(makeUnique(body)));
  const [response] = await once(sent, 'response');
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  if (response.statusCode !== 200) throw new ScenarioFailure(`${Buffer.concat(pieces)}`);
  return pieces;
}
