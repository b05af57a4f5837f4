/** Measures `sluice import` of the same blocks as lines of JSON, as protobufs and as an archive, in processor time. */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import { encodeArchive } from '@sluice/grpc/encode-archive';
import { encodeProtobufBlock, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import { prepareDraft } from '@sluice/server/dist/ingest/prepare/prepared-block.js';
import { readBlockFiles } from '@sluice/source/files/read-block-files';
import { type BlockLine, readBlockLines } from '@sluice/source/files/read-block-lines';
import { blockReaders, kernelTexts } from '@sluice/source/read-block';
import { type Benchmark, quantilesOf } from './benchmark.ts';
import { readArgs, readCount } from './read-args.ts';
import { CommandProcess } from './service/command-process.ts';
import { hashAnswer, ServedFolder } from './service/ingested-answer.ts';
import { ticksPerSecond } from './service/machine-load.ts';

const text = { type: 'string' } as const;
const firstSlot = 1_000;
const lineBytesMax = 64 << 20;
/** The share of the blocks in the shorter import. The difference of both imports excludes the start of the process. */
const shorterShare = 0.25;
const preparedCount = 30;
const preparedRounds = 7;
const forms = ['JSON', 'protobuf', 'archive'] as const;
type Form = (typeof forms)[number];

export const binaryImportBenchmark: Benchmark = {
  name: 'binary-import',
  summary: 'sluice import of the same blocks as JSON, protobufs and an archive, in processor time',
  options: [
    '--blocks N       number of blocks of the 2025 profile with votes (default 120)',
    '--rounds N       imports of each form and length, in turns (default 2)',
  ],
  async run(print, args) {
    const given = readArgs(args, { blocks: text, rounds: text });
    const blockCount = readCount('blocks', given.blocks, { fallback: 120, min: 60 });
    const roundCount = readCount('rounds', given.rounds, { fallback: 2, min: 1 });
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-binary-'));
    try {
      const lines = join(folder, 'blocks.jsonl');
      const range = ['--start-slot', `${firstSlot}`, '--blocks', `${blockCount}`];
      const chain = ['--profile', '2025', '--skip-rate', '0'];
      await CommandProcess.run(['simulate', ...chain, ...range, '--out', lines]);
      const whole = await makeFiles(folder, lines, blockCount);
      const shorterCount = Math.round(blockCount * shorterShare);
      const shorter = await makeFiles(folder, lines, shorterCount);
      await measureImports(folder, { whole, shorter, roundCount, blockCount, shorterCount }, print);
      await measurePreparing(whole, print);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

type Files = Readonly<Record<Form, string>>;

/** Writes the first blocks of a file of lines, in every form. */
async function makeFiles(folder: string, lines: string, blockCount: number): Promise<Files> {
  const last = firstSlot + blockCount - 1;
  const files = {
    JSON: join(folder, `${last}.jsonl`),
    protobuf: join(folder, `${firstSlot}-${last}.pb`),
    archive: join(folder, `${last}.car`),
  };
  const [json, protobuf] = [openSync(files.JSON, 'w'), openSync(files.protobuf, 'w')];
  const blocks = [];
  for await (const { slot, bytes } of readBlockLines(lines, { lineBytesMax })) {
    const block = parseJsonBlock(bytes);
    writeSync(json, `{"slot":${slot},"block":`);
    writeSync(json, bytes);
    writeSync(json, '}\n');
    writeSync(protobuf, new BinaryWriter().delimited(encodeProtobufBlock(block)).finish());
    if (blocks.push({ slot, block }) === blockCount) break;
  }
  closeSync(json);
  closeSync(protobuf);
  writeFileSync(files.archive, encodeArchive(blocks).bytes);
  return files;
}

interface Imports {
  readonly whole: Files;
  readonly shorter: Files;
  readonly roundCount: number;
  readonly blockCount: number;
  readonly shorterCount: number;
}

async function measureImports(
  folder: string,
  { whole, shorter, roundCount, blockCount, shorterCount }: Imports,
  print: (line: string) => void,
): Promise<void> {
  const seconds = new Map<string, number[]>();
  const hashes = new Map<Form, string>();
  for (let round = 0; round < roundCount; round++) {
    for (const form of forms) {
      const data = join(folder, 'data');
      for (const file of [shorter[form], whole[form]]) {
        rmSync(data, { recursive: true, force: true });
        seconds.set(file, [...(seconds.get(file) ?? []), await importCpuSeconds(data, file)]);
      }
      if (round === 0) hashes.set(form, await hashOf(data));
    }
  }
  const least = (file: string) => Math.min(...(seconds.get(file) ?? []));
  const perBlock = (form: Form) =>
    ((least(whole[form]) - least(shorter[form])) * 1000) / (blockCount - shorterCount);
  print(`import, processor seconds of all threads, the least of ${roundCount}:`);
  for (const form of forms) {
    const megabytes = statSync(whole[form]).size / 1e6 / blockCount;
    const ratios = [
      `${(least(whole.JSON) / least(whole[form])).toFixed(2)} × the speed of JSON`,
      `${(perBlock('JSON') / perBlock(form)).toFixed(2)} × without the start`,
    ];
    print(
      `  ${form.padEnd(8)} ${megabytes.toFixed(1)} MB a block · ${least(whole[form]).toFixed(2)} s for ${blockCount} blocks, ` +
        `${least(shorter[form]).toFixed(2)} s for ${shorterCount} · ${perBlock(form).toFixed(1)} ms a block · ${ratios.join(', ')} · answer ${hashes.get(form)}`,
    );
  }
}

async function importCpuSeconds(data: string, file: string): Promise<number> {
  const before = endedChildrenCpuSeconds();
  await CommandProcess.run(['import', '--data', data, '--dataset', 'bench', file]);
  return endedChildrenCpuSeconds() - before;
}

/** Returns the CPU time of all child processes that have ended. */
function endedChildrenCpuSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // cutime and cstime are the 14th and 15th fields after the name of the process.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}

async function hashOf(data: string): Promise<string> {
  const served = await ServedFolder.open(data);
  try {
    return await hashAnswer(served.port, firstSlot);
  } finally {
    await served.close();
  }
}

/** Measures only what differs between the forms: from the bytes of a block to its rows, in this thread. */
async function measurePreparing(files: Files, print: (line: string) => void): Promise<void> {
  const blocks: Record<Form, readonly BlockLine[]> = {
    JSON: await readSome(files.JSON),
    protobuf: await readSome(files.protobuf),
    archive: await readSome(files.archive),
  };
  const kernel = new TransactionKernel(kernelTexts);
  const memory = new Uint8Array(new SharedArrayBuffer(lineBytesMax));
  const prepare = (lines: readonly BlockLine[]) => {
    const start = process.cpuUsage();
    for (const { slot, bytes, format } of lines) {
      prepareDraft(blockReaders[format](slot, bytes, {}, kernel), () => memory);
    }
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000 / lines.length;
  };
  for (const form of forms) prepare(blocks[form]);
  const rounds = Array.from({ length: preparedRounds }, () =>
    forms.map((form) => prepare(blocks[form])),
  );
  const p50 = (of: (round: number[]) => number) => quantilesOf(rounds.map(of)).p50;
  print(`from bytes to rows, one thread, p50 of ${preparedRounds} rounds:`);
  forms.forEach((form, i) => {
    const ratio = p50((round) => (round[0] ?? 0) / (round[i] ?? 0));
    const ms = p50((round) => round[i] ?? 0);
    print(
      `  ${form.padEnd(8)} ${ms.toFixed(1)} ms a block · ${ratio.toFixed(2)} × the speed of JSON`,
    );
  });
}

/** Returns copies of the first blocks of a file. */
async function readSome(file: string): Promise<readonly BlockLine[]> {
  const blocks: BlockLine[] = [];
  for await (const block of readBlockFiles([file], {}, new AbortController().signal)) {
    blocks.push({ ...block, bytes: Uint8Array.from(block.bytes) });
    if (blocks.length === preparedCount) break;
  }
  return blocks;
}
