import type { Benchmark } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';
import { measureMemory } from './measure-memory.ts';
import { measureParse } from './measure-parse.ts';
import type { PartReport } from './reader-process.ts';
import { makeSamples, type Sample, tailOf } from './sample-lines.ts';

const sampleBlockCount = 4;
const headBlockCount = 2_000;

type Print = (line: string) => void;

export const clientBenchmark: Benchmark = {
  name: 'client',
  summary:
    'the client library: bytes to blocks against a plain reader with JSON.parse, and the memory of a reader',
  options: [
    '--runs N         timed runs of each kind of record (default 10)',
    '--megabytes N    history that the reader reads (default 1000)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const values = readArgs(args, { runs: text, megabytes: text });
    const runCount = readCount('runs', values.runs, { fallback: 10, min: 1 });
    const megabytes = readCount('megabytes', values.megabytes, { fallback: 1_000, min: 1 });
    const samples = makeSamples(sampleBlockCount);
    await printParse(samples, runCount, print);
    await printMemory(samples, megabytes, print);
  },
};

async function printParse(samples: readonly Sample[], runCount: number, print: Print) {
  let slowest = 0;
  for (const sample of samples) {
    const { name, megabytes, plain, exact, checksum } = await measureParse(sample, runCount);
    const ratio = exact.p50 / plain.p50;
    slowest = Math.max(slowest, ratio);
    const times = (q: { p50: number; p95: number }) =>
      `p50 ${q.p50.toFixed(1)} p95 ${q.p95.toFixed(1)} ms`;
    print(
      [
        `${name}, ${megabytes.toFixed(1)} MB`,
        `plain reader ${times(plain)}`,
        `client ${times(exact)}`,
        `ratio ${ratio.toFixed(2)}`,
        `checksum ${checksum}`,
      ].join(' · '),
    );
  }
  print(
    `slowest: ${slowest.toFixed(2)} × the time of JSON.parse in a plain reader; the goal is at most 2, half its speed`,
  );
}

async function printMemory(samples: readonly Sample[], megabytes: number, print: Print) {
  const linesOf = (name: string) => samples.find((sample) => sample.name === name)?.lines ?? [];
  const [smallTail = '}\n'] = linesOf('balances').map(tailOf);
  const options = {
    tails: linesOf('everything').map(tailOf),
    smallTail,
    historyBytes: megabytes * 1e6,
    headBlocks: headBlockCount,
  };
  const { history, head } = await measureMemory(options, samples[0]?.query ?? {});
  printPart('history', history, print);
  printPart('the head, block by block', head, print);
  const heap = Math.max(history.heapMegabytesMax, head.heapMegabytesMax);
  print(`largest heap, garbage included: ${heap.toFixed(0)} MB; the goal is at most 100`);
}

function printPart(name: string, part: PartReport, print: Print): void {
  print(
    [
      `${name}: ${part.megabytes.toFixed(0)} MB, ${part.blockCount} blocks, ${part.recordCount} records`,
      `heap at most ${part.heapMegabytesMax.toFixed(0)} MB`,
      `backlog at most ${part.backlogMax} blocks`,
      `${(part.megabytes / part.seconds).toFixed(0)} MB/s`,
    ].join(' · '),
  );
}
