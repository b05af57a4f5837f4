import { readBlockLines } from '@sluice/source/files/read-block-lines';

/** The time of `JSON.parse` for the blocks of a file, one after another in one thread. */
export interface ParseBaseline {
  readonly blocksPerSecond: number;
  readonly cpuMsPerBlock: number;
  readonly blockBytes: number;
}

const lineBytesMax = 64 << 20;
/** The first blocks are not counted, because they include compilation. */
const warmUpCount = 5;

/** Only parsing is timed, not reading the file or decoding its bytes. */
export async function measureParse(path: string, blockCount: number): Promise<ParseBaseline> {
  let count = 0;
  let wallMs = 0;
  let cpuMs = 0;
  let bytesTotal = 0;
  for await (const { bytes } of readBlockLines(path, { lineBytesMax })) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
    const cpuStart = process.cpuUsage();
    const start = performance.now();
    JSON.parse(text);
    const wall = performance.now() - start;
    const { user, system } = process.cpuUsage(cpuStart);
    if (++count > warmUpCount) {
      wallMs += wall;
      cpuMs += (user + system) / 1000;
      bytesTotal += bytes.byteLength;
    }
    if (count === warmUpCount + blockCount) break;
  }
  const measured = count - warmUpCount;
  return {
    blocksPerSecond: (measured * 1000) / wallMs,
    cpuMsPerBlock: cpuMs / measured,
    blockBytes: bytesTotal / measured,
  };
}

/** The duration and the cost of an ingestion. */
export interface IngestResult {
  readonly blockCount: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly anonymousBytesPeak: number;
  /** The CPU time of other processes of the machine. */
  readonly otherCpuSeconds: number;
}

const anonymousBytesMax = 1e9;

export function describeIngest(
  result: IngestResult,
  baselines: readonly ParseBaseline[],
  goal: number,
): string[] {
  const { blockCount, seconds, cpuSeconds, anonymousBytesPeak: peak } = result;
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const parse = mean(baselines.map(({ blocksPerSecond }) => blocksPerSecond));
  const parseCpuMs = mean(baselines.map(({ cpuMsPerBlock }) => cpuMsPerBlock));
  const rate = blockCount / seconds;
  const ratio = rate / parse;
  const cpuMs = (cpuSeconds * 1000) / blockCount;
  const judge = (isMet: boolean) => (isMet ? 'met' : 'missed');
  return [
    `${rate.toFixed(1)} blocks/s over ${blockCount} blocks · ${ratio.toFixed(2)} × JSON.parse (${parse.toFixed(1)} blocks/s): goal ${goal}, ${judge(ratio >= goal)}`,
    `processor time ${cpuMs.toFixed(0)} ms a block · ${(cpuMs / parseCpuMs).toFixed(1)} × JSON.parse (${parseCpuMs.toFixed(1)} ms); other processes used ${(result.otherCpuSeconds / seconds).toFixed(2)} cores`,
    `anonymous memory at most ${(peak / 1e6).toFixed(0)} MB of 1,000: ${judge(peak <= anonymousBytesMax)}`,
  ];
}
