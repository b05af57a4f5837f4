import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { ENGINE_LIMITS } from '@sluice/server/dist/engine/threads/engine-limits.js';
import { quantilesOf } from '../benchmark.ts';
import { Subject } from '../subject/subject.ts';
import { askStream, datasetName, ServiceProcess } from './processes.ts';
import { describeMemory, goalReached } from './report.ts';
import { type Scenario, type ScenarioContext, ScenarioFailure } from './scenario.ts';
import { importSimulated, prepareStoredData } from './stored-data.ts';

/** About one gigabyte of text. */
const blockCount = 300;
/** Compression is many times slower than writing, so it is measured over fewer blocks. */
const gzipBlockCount = 60;
const firstSlot = 1_000;
/** The size of the input chunks for zlib. */
const zlibPieceBytes = 8 << 20;
const identityGoal = 0.7;
const gzipGoal = 0.9;

const everything = {
  transactions: [{}],
  instructions: [{}],
  logs: [{}],
  balances: [{}],
  tokenBalances: [{}],
  rewards: [{}],
};

/** Measures how fast one client receives all records. */
export const everythingScenario: Scenario = {
  name: 'everything',
  summary: `one stream of everything, ${blockCount} blocks of the 2025 profile: identity against the engine alone, gzip against zlib level 1 in one thread`,
  async run(context) {
    const { options, progress } = context;
    const { seed } = options;
    progress('generating blocks (only once)');
    const data = await prepareStoredData({
      name: `everything-${blockCount}`,
      seed,
      make: (folder) => importSimulated(folder, { seed, profile: '2025', firstSlot, blockCount }),
    });
    const service = await ServiceProcess.start(data);
    const engine = await Subject.start({
      corpus: { folder: join(data, datasetName), lastSlot: firstSlot + blockCount },
      side: 'sluice',
      ...ENGINE_LIMITS,
    });
    try {
      await measure({ service, engine }, context);
    } finally {
      engine.stop();
      await service.process.stop();
    }
  },
};

interface Subjects {
  readonly service: ServiceProcess;
  readonly engine: Subject;
}

async function measure({ service, engine }: Subjects, context: ScenarioContext): Promise<void> {
  const { options, print, progress } = context;
  const body = { fromBlock: firstSlot, toBlock: (await service.head()) ?? 0, ...everything };
  const short = { ...body, toBlock: firstSlot + gzipBlockCount - 1 };
  progress('comparing the responses');
  const once = { body, rangeBlockCount: null, runCount: 1, secondsMin: 0 };
  const expected = await engine.run({ ...once, isHashed: true });
  const answer = await hashAnswer(service.port, body);
  if (answer.checksum !== expected.checksum) throw new ScenarioFailure('the responses differ');
  const sample = await service.ask(short);
  const speeds = {
    engine: [] as number[],
    identity: [] as number[],
    gzip: [] as number[],
    zlib: [] as number[],
  };
  let gzipCores = 0;
  const endMs = performance.now() + options.seconds * 1000;
  progress(`measuring for ${options.seconds} s`);
  while (performance.now() < endMs) {
    const single = await engine.run({ ...once, isHashed: false });
    speeds.engine.push(answer.bytes / (single.samples[0]?.wallMs ?? 0));
    speeds.identity.push(answer.bytes / (await drain(service.port, body, 'identity')));
    const cpu = service.process.cpuSeconds();
    const gzipMs = await drain(service.port, short, 'gzip');
    gzipCores = ((service.process.cpuSeconds() - cpu) * 1000) / gzipMs;
    speeds.gzip.push(sample.length / gzipMs);
    speeds.zlib.push(sample.length / deflateMs(sample));
  }
  const p50 = (speed: readonly number[]) => quantilesOf(speed).p50 / 1000;
  const compare = (ours: number, theirs: number, goal: number, of: string) =>
    `${ours.toFixed(0)} MB/s of text, ${goalReached(ours / theirs, goal, `of ${of} (${theirs.toFixed(0)} MB/s)`)}`;
  print(
    `identity ${compare(p50(speeds.identity), p50(speeds.engine), identityGoal, 'the engine alone')}`,
  );
  print(
    `gzip ${compare(p50(speeds.gzip), p50(speeds.zlib), gzipGoal, 'zlib level 1, one thread')}, with ${gzipCores.toFixed(1)} cores`,
  );
  print(
    `${speeds.engine.length} rounds, p50 · ${(answer.bytes / 1e6).toFixed(0)} MB of text, checksum ${answer.checksum.slice(0, 12)}, the same from the engine`,
  );
  print(describeMemory(service.process.anonymousBytesPeak));
}

function deflateMs(bytes: Buffer): number {
  const startMs = performance.now();
  for (let at = 0; at < bytes.length; at += zlibPieceBytes) {
    deflateRawSync(bytes.subarray(at, at + zlibPieceBytes), { level: 1 });
  }
  return performance.now() - startMs;
}

async function hashAnswer(port: number, body: object) {
  const hash = createHash('sha256');
  let bytes = 0;
  const response = await askStream(port, body);
  for await (const piece of response.body ?? []) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { bytes, checksum: hash.digest('hex') };
}

const drainBuffer = Buffer.allocUnsafe(1 << 20);

/** Reads a response to its end without keeping it. Returns the duration. */
function drain(port: number, body: object, encoding: 'identity' | 'gzip'): Promise<number> {
  const text = JSON.stringify(body);
  const request = [
    `POST /datasets/${datasetName}/stream HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: close',
    'Content-Type: application/json',
    `Accept-Encoding: ${encoding}`,
    `Content-Length: ${text.length}`,
    '',
    text,
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const onread = { buffer: drainBuffer, callback: () => true };
    const socket = connect({ host: '127.0.0.1', port, onread });
    socket.on('error', reject);
    socket.on('close', () => resolve(performance.now() - startMs));
    socket.write(request);
  });
}
