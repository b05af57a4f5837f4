/** Measures how the costs of a dataset grow with its history: the start, commits, rare queries and lookups. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync, statSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { Dataset } from '@sluice/server/dist/dataset/dataset.js';
import type { Fs } from '@sluice/server/dist/storage/fs.js';
import { nodeFs } from '@sluice/server/dist/storage/node-fs.js';
import { type Benchmark, quantilesOf } from '../benchmark.ts';
import { dropFileCache } from '../first-scan/file-cache.ts';
import { makeDataset, rareAccount, rareBlockCount, signatureOf } from '../lookup/make-dataset.ts';
import { readArgs, readCount } from '../read-args.ts';
import { datasetName, ServiceProcess } from '../service/processes.ts';
import { ScenarioFailure } from '../service/scenario.ts';
import { prepareStoredData } from '../service/stored-data.ts';

const text = { type: 'string' } as const;

export const historyBenchmark: Benchmark = {
  name: 'history',
  summary:
    'how costs grow with the history, over HTTP: 1 %, 10 % and 100 % of it, and many small segments',
  options: [
    '--blocks N       number of blocks of the largest dataset of large segments (default 10000000)',
    '--segments N     number of small segments of the other dataset (default 550000)',
    '--repeat N       lookups of each kind (default 20)',
    '--seed N         seed of the blocks (default 1)',
    '--json FILE      writes a list of { name, size, value, unit }',
  ],
  async run(print, args) {
    const given = readArgs(args, {
      blocks: text,
      segments: text,
      repeat: text,
      seed: text,
      json: text,
    });
    const blocks = readCount('blocks', given.blocks, { fallback: 10_000_000, min: 1 });
    const segments = readCount('segments', given.segments, { fallback: 550_000, min: 100 });
    const repeatCount = readCount('repeat', given.repeat, { fallback: 20, min: 1 });
    const seed = readCount('seed', given.seed, { fallback: 1, min: 0 });
    const measures: Measure[] = [];
    for (const segmentCount of sizesOf(Math.ceil(blocks / large.blocksPerSegment), 1)) {
      const label = `${segmentCount * large.blocksPerSegment} blocks`;
      measures.push(
        ...(await measure({ ...large, segmentCount, label, seed, repeatCount }, print)),
      );
    }
    for (const segmentCount of sizesOf(segments, 10)) {
      const label = `${segmentCount} segments`;
      measures.push(
        ...(await measure({ ...small, segmentCount, label, seed, repeatCount }, print)),
      );
    }
    if (given.json !== undefined)
      writeFileSync(given.json, `${JSON.stringify(measures, null, 2)}\n`);
  },
};

/** Returns 1 %, 10 % and 100 % of a number of segments, without sizes that are equal. */
function sizesOf(count: number, min: number): number[] {
  return [...new Set([0.01, 0.1, 1].map((share) => Math.max(min, Math.ceil(count * share))))];
}

/**
 * Segments with half the number of blocks that a segment can have, so that they are not merged. A real ledger has about one signature for each
 * transaction, two or three accounts for each that no other transaction of the segment has, and 540 bytes of segments for each.
 */
const large = {
  transactionsPerBlock: 1,
  blocksPerSegment: 4_096,
  signaturesPerTransaction: 1,
  newAccountsPerTransaction: 2,
  logBytesPerTransaction: 300,
};
/** Segments that are not merged, so that there are many. */
const small = { transactionsPerBlock: 1, blocksPerSegment: 1, mergeBytes: 1 };

interface Measure {
  readonly name: string;
  readonly size: string;
  readonly value: number;
  readonly unit: 'bytes' | 'ms' | 'MB' | '%';
}

interface HistoryOptions {
  readonly segmentCount: number;
  readonly blocksPerSegment: number;
  readonly transactionsPerBlock: number;
  readonly mergeBytes?: number;
  readonly signaturesPerTransaction?: number;
  readonly newAccountsPerTransaction?: number;
  readonly logBytesPerTransaction?: number;
  readonly label: string;
  readonly seed: number;
  readonly repeatCount: number;
}

async function measure(
  options: HistoryOptions,
  print: (line: string) => void,
): Promise<readonly Measure[]> {
  const { segmentCount, blocksPerSegment, label, seed } = options;
  const startMs = performance.now();
  const folder = await prepareStoredData({
    name: `history-${segmentCount}-${blocksPerSegment}-${options.transactionsPerBlock}`,
    seed,
    make: (draft) => makeDataset(draft, options, printTenths(label, print)),
  });
  const madeSeconds = (performance.now() - startMs) / 1000;
  const dataFolder = join(folder, datasetName);
  print(`  data folder: ${folder}`);
  const [data, index, lists] = ['segments', 'indexes', 'lists'].map((name) =>
    sizeOf(dataFolder, name),
  );
  const blockCount = segmentCount * blocksPerSegment;
  const share = (100 * (index?.bytes ?? 0)) / (data?.bytes ?? 1);
  print(`${label}: ${blockCount.toLocaleString('en')} blocks in ${data?.count} segment files`);
  print(
    `  ${gigabytesOf(data?.bytes ?? 0)} of segments, ${gigabytesOf(index?.bytes ?? 0)} of indexes (${share.toFixed(1)} %) in ${index?.count} files, ${lists?.count} lists, prepared in ${madeSeconds.toFixed(0)} s`,
  );
  const values: [name: string, value: number, unit: Measure['unit']][] = [
    ['disk-bytes', (data?.bytes ?? 0) + (index?.bytes ?? 0) + (lists?.bytes ?? 0), 'bytes'],
    ['index-share', share, '%'],
    ['commit-bytes', await measureCommit(dataFolder), 'bytes'],
  ];
  const service = await measureStart(folder, dataFolder);
  values.push(['start-ms', service.startMs, 'ms']);
  try {
    const answers = createHash('sha256');
    for (const [name, ms] of Object.entries(
      await measureService(service.started, options, answers),
    ))
      values.push([name, ms, 'ms']);
    values.push(['memory-mb', service.started.process.residentBytesPeak / 1e6, 'MB']);
    print(`  checksum of the answers ${answers.digest('hex').slice(0, 16)}`);
  } finally {
    await service.started.process.stop('SIGTERM');
  }
  const bare = readBareMs(dataFolder);
  print(`  baseline: read 4 kB of 10 files, one after another: ${bare.toFixed(2)} ms`);
  for (const [name, value, unit] of values) {
    const ratio = unit === 'ms' ? ` (${(value / bare).toFixed(1)} × the baseline)` : '';
    const digits = unit === 'ms' || unit === '%' ? 1 : 0;
    print(`  ${name.padEnd(24)} ${value.toFixed(digits)} ${unit}${ratio}`);
  }
  return values.map(([name, value, unit]) => ({ name, size: label, value, unit }));
}

/** Returns a function that prints the progress of making a dataset at each tenth. */
function printTenths(label: string, print: (line: string) => void): (share: number) => void {
  let printed = 0;
  return (share) => {
    const tenths = Math.floor(share * 10);
    if (tenths > printed) print(`${label}: ${tenths * 10} % made`);
    printed = tenths;
  };
}

const gigabytesOf = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;

function filesOf(folder: string, name: string): string[] {
  try {
    return readdirSync(join(folder, name)).map((file) => join(folder, name, file));
  } catch {
    return [];
  }
}

function sizeOf(folder: string, name: string): { readonly count: number; readonly bytes: number } {
  const files = filesOf(folder, name);
  return { count: files.length, bytes: files.reduce((sum, file) => sum + statSync(file).size, 0) };
}

/** Returns the bytes that a commit writes if it also begins a new file of the journal, with a checkpoint of the whole state. */
async function measureCommit(folder: string): Promise<number> {
  let bytes = 0;
  const counting: Fs = Object.assign(Object.create(nodeFs) as Fs, {
    openFile: async (path: string, mode: 'read' | 'write' | 'create') => {
      const file = await nodeFs.openFile(path, mode);
      const write: typeof file.write = (offset, parts) => {
        for (const part of parts) bytes += part.byteLength;
        return file.write(offset, parts);
      };
      return Object.assign(Object.create(file) as typeof file, {
        write,
        size: () => file.size(),
        read: (offset: number, length: number) => file.read(offset, length),
        truncate: (length: number) => file.truncate(length),
        sync: () => file.sync(),
        close: () => file.close(),
      });
    },
  });
  const limits = { journalFileBytesMax: 1 };
  const dependencies = { fs: counting, clock: systemClock, isLockHeld: () => true };
  const dataset = await Dataset.open({ folder, realTime: false, limits }, dependencies);
  try {
    bytes = 0;
    const files = ['segments/announced-by-a-benchmark'];
    await dataset.commit([{ kind: 'announce', files }]);
    const measured = bytes;
    await dataset.commit([{ kind: 'forget', files }]);
    return measured;
  } finally {
    await dataset.close();
  }
}

/** The files that one process removes from the page cache. */
const dropCount = 2_000;

/** Returns the time from the start of the command to its first answer, with files that are not in the page cache. */
async function measureStart(folder: string, dataFolder: string) {
  const folders = ['journal', 'lists', 'indexes', 'segments'];
  const files = folders.flatMap((name) => filesOf(dataFolder, name));
  for (let at = 0; at < files.length; at += dropCount)
    dropFileCache(files.slice(at, at + dropCount));
  const startMs = performance.now();
  const started = await ServiceProcess.start(folder);
  await started.head();
  return { started, startMs: performance.now() - startMs };
}

async function measureService(
  service: ServiceProcess,
  { segmentCount, blocksPerSegment, seed, repeatCount }: HistoryOptions,
  answers: ReturnType<typeof createHash>,
): Promise<Record<string, number>> {
  const lastBlock = segmentCount * blocksPerSegment;
  const lookUp = async (number: number, index: number) => {
    const path = `/datasets/${datasetName}/transactions/${signatureOf(seed, number, index)}`;
    const startMs = performance.now();
    const { status, body } = await request(service.port, path);
    const ms = performance.now() - startMs;
    if (status !== (number < 0 ? 404 : 200))
      throw new ScenarioFailure(`${path} was answered with ${status}: ${body}`);
    if (status === 200) answers.update(body);
    return ms;
  };
  const rare = async () => {
    const startMs = performance.now();
    const body = await service.ask({
      fromBlock: 1,
      toBlock: lastBlock,
      transactions: [{ mentionsAccount: [rareAccount(seed)] }],
      fields: { block: { number: true }, transaction: { signatures: true } },
    });
    const ms = performance.now() - startMs;
    const lines = body
      .toString()
      .split('\n')
      .filter((line) => line.includes('signatures'));
    if (lines.length !== rareBlockCount)
      throw new ScenarioFailure(`the rare account is in ${lines.length} blocks`);
    answers.update(body);
    return ms;
  };
  const repeat = async (action: (i: number) => Promise<number>) => {
    const samples: number[] = [];
    for (let i = 0; i < repeatCount; i++) samples.push(await action(i));
    return quantilesOf(samples).p50;
  };
  const spread = (i: number, count: number) => Math.floor((lastBlock * i) / count);
  const known = (i: number, count = repeatCount) => lookUp(spread(i, count), 0);
  const values: Record<string, number> = {
    'unknown-signature-first-ms': await lookUp(-1, unknownCountMax),
    'rare-account-first-ms': await rare(),
    // Each signature is in another segment, unless there are fewer segments than lookups.
    'signature-young-ms': await repeat((i) => known(i)),
  };
  for (let i = 0; i < warmUpCount; i++) {
    await known(i, warmUpCount);
    await lookUp(-1, repeatCount + i);
  }
  // These signatures are others than before, because each is in the block after.
  const next = (i: number) => Math.min(spread(i, repeatCount) + 1, lastBlock - 1);
  values['unknown-signature-ms'] = await repeat((i) => lookUp(-1, i));
  values['signature-ms'] = await repeat((i) => lookUp(next(i), 0));
  values['rare-account-ms'] = await repeat(rare);
  return values;
}

/**
 * The lookups of each kind between those of a young process and those that are measured. The JavaScript engine compiles the code of a process
 * while it runs, and a service runs for days.
 */
const warmUpCount = 750;
/** No measured lookup of an unknown signature uses this number. */
const unknownCountMax = 1_000_000;

/** `fetch` would take 2 ms more than the service needs for a transaction. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function request(
  port: number,
  path: string,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }),
      );
      response.once('error', reject);
    }).once('error', reject);
  });
}

/** Returns the milliseconds that the system needs to read the start of ten segments. */
function readBareMs(folder: string): number {
  const files = filesOf(folder, 'segments').slice(0, 10);
  const startMs = performance.now();
  for (const path of files) {
    const file = openSync(path, 'r');
    readSync(file, Buffer.alloc(4_096), 0, 4_096, 0);
    closeSync(file);
  }
  return performance.now() - startMs;
}
