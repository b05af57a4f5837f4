/** The measured blocks, as files for `sluice import`. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { encodeBase58 } from '@sluice/base/base58';
import type { Block } from '@sluice/ledger/block';
import { STREAM_LIMITS } from '@sluice/server/dist/stream/stream-limits.js';
import { type BlockLine, readBlockLines } from '@sluice/source/files/read-block-lines';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { UsageFailure } from '../benchmark.ts';
import { CommandProcess } from '../service/command-process.ts';
import type { FirstScanOptions } from './options.ts';
import { rareAccount } from './well-known.ts';

export interface RawBlocks {
  readonly origin: string;
  /** In the order of import. */
  readonly paths: readonly string[];
  readonly blockCount: number;
  readonly byteLength: number;
  readonly firstSlot: number;
  readonly lastSlot: number;
  /** The first blocks, from which the values of the queries are chosen. */
  readonly sample: readonly Block[];
  /** The same blocks as text, for the baseline. */
  readonly sampleTexts: readonly string[];
  readonly hasRareAccount: boolean;
  /** Empty blocks that follow the last one. */
  readonly abovePath: string;
  /** A few of these blocks and empty ones above them, for the dataset that warms up a process. */
  readonly warmPaths: readonly string[];
  readonly warmRange: { readonly first: number; readonly last: number };
}

const lineBytesMax = 64 << 20;
const sampleBlockCount = 12;
/** About 100 MB of blocks: enough for the code to be optimized, and read within a second. */
const warmBlockCount = 40;
const simulatedFirstSlot = 1_000;
/** Blocks above those that are measured, so that none of the latter is among the newest slots, whose lines the service caches. */
const emptyBlockCount = STREAM_LIMITS.sharedSlotCountMax + 16;

/** Finds or creates the files. New files are written to `folder`. */
export async function prepareRawBlocks(
  options: FirstScanOptions,
  folder: string,
): Promise<RawBlocks> {
  if (options.corpusFolder === undefined) {
    const path = join(folder, 'simulated.jsonl');
    const shape = ['--seed', `${options.seed}`, '--profile', '2025', '--votes', 'off'];
    const range = ['--start-slot', `${simulatedFirstSlot}`, '--blocks', `${options.blockCount}`];
    await CommandProcess.run(['simulate', ...shape, ...range, '--out', path]);
    const origin = `the simulator's 2025 profile without votes, seed ${options.seed}`;
    return await new Reading(folder, options.blockCount).read([path], origin);
  }
  const names = await readdir(options.corpusFolder).catch((error: Error) => {
    throw new UsageFailure(`--corpus cannot be read: ${error.message}`, { cause: error });
  });
  const paths = names
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(options.corpusFolder ?? '', name));
  if (paths.length === 0)
    throw new UsageFailure(`--corpus ${options.corpusFolder} has no *.jsonl files`);
  return await new Reading(folder, options.blockCount).read(paths, 'the given corpus');
}

/** One pass over the files. */
class Reading {
  readonly #folder: string;
  readonly #blockCountMax: number;
  readonly #slots: number[] = [];
  readonly #sample: Block[] = [];
  readonly #sampleTexts: string[] = [];
  #byteLength = 0;
  #hasRareAccount = false;
  /** The blocks for the warm-up: the first ones, or those from the first block with the rare account on. */
  #warm: BlockLine[] = [];
  #last: BlockLine | undefined;

  constructor(folder: string, blockCountMax: number) {
    this.#folder = folder;
    this.#blockCountMax = blockCountMax;
  }

  async read(paths: readonly string[], origin: string): Promise<RawBlocks> {
    const used: string[] = [];
    for (const path of paths) {
      if (this.#slots.length >= this.#blockCountMax) break;
      used.push(await this.#readFile(path));
    }
    const [warmFirst, warmLast, last] = [this.#warm[0], this.#warm.at(-1), this.#last];
    if (warmFirst === undefined || warmLast === undefined || last === undefined)
      throw new UsageFailure('--corpus has no blocks');
    const file = (name: string) => join(this.#folder, name);
    const warmPaths = [file('warm.jsonl'), file('warm-above.jsonl')] as const;
    await writeLines(warmPaths[0], this.#warm);
    await writeBlocksAbove(warmPaths[1], warmLast);
    const abovePath = file('above.jsonl');
    await writeBlocksAbove(abovePath, last);
    return {
      origin,
      paths: used,
      blockCount: this.#slots.length,
      byteLength: this.#byteLength,
      firstSlot: this.#slots[0] ?? 0,
      lastSlot: this.#slots.at(-1) ?? 0,
      sample: this.#sample,
      sampleTexts: this.#sampleTexts,
      hasRareAccount: this.#hasRareAccount,
      abovePath,
      warmPaths,
      warmRange: { first: warmFirst.slot, last: warmLast.slot },
    };
  }

  /** Returns the file, or a file with only its first blocks. */
  async #readFile(path: string): Promise<string> {
    let lineCount = 0;
    for await (const line of readBlockLines(path, { lineBytesMax })) {
      if (this.#slots.length >= this.#blockCountMax)
        return await cutFile(path, lineCount, join(this.#folder, 'cut.jsonl'));
      this.#take(line);
      lineCount = line.line ?? lineCount;
    }
    return path;
  }

  #take(line: BlockLine): void {
    const { slot, bytes } = line;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#slots.push(slot);
    this.#byteLength += bytes.byteLength;
    if (this.#sample.length < sampleBlockCount) {
      this.#sample.push(normalizeBlock(slot, bytes).block);
      this.#sampleTexts.push(text.toString());
    }
    if (!this.#hasRareAccount && text.includes(rareAccount)) {
      this.#hasRareAccount = true;
      if (this.#slots.length > warmBlockCount) this.#warm = [];
    }
    // The bytes are valid until the next line is read.
    this.#last = { ...line, bytes: Buffer.from(text) };
    if (this.#warm.length < warmBlockCount) this.#warm.push(this.#last);
  }
}

/** Writes a file of empty blocks that follow a block. The measured blocks are then below the newest slots, as history usually is. */
async function writeBlocksAbove(path: string, { slot, bytes }: BlockLine): Promise<void> {
  const { header } = normalizeBlock(slot, bytes).block;
  const seconds = Number(header.timestamp ?? 0);
  let previousBlockhash: string = header.hash;
  const lines: string[] = [];
  for (let above = 1; above <= emptyBlockCount; above++) {
    const blockhash = encodeBase58(createHash('sha256').update(previousBlockhash).digest());
    const block = {
      ...{ blockhash, previousBlockhash, parentSlot: slot + above - 1 },
      ...{ blockTime: seconds, blockHeight: (header.height ?? 0) + above },
      ...{ rewards: [], transactions: [] },
    };
    lines.push(`${JSON.stringify({ slot: slot + above, block })}\n`);
    previousBlockhash = blockhash;
  }
  await writeFile(path, lines);
}

/** Copies the first lines of a file. */
async function cutFile(path: string, lineCount: number, target: string): Promise<string> {
  const lines: BlockLine[] = [];
  for await (const line of readBlockLines(path, { lineBytesMax })) {
    lines.push({ ...line, bytes: Buffer.from(line.bytes) });
    if (line.line === lineCount) break;
  }
  await writeLines(target, lines);
  return target;
}

async function writeLines(path: string, lines: readonly BlockLine[]): Promise<void> {
  const out = createWriteStream(path);
  for (const { slot, bytes } of lines) {
    out.write(`{"slot":${slot},"block":`);
    out.write(bytes);
    out.write('}\n');
  }
  out.end();
  await finished(out);
}

/** Identifies a set of files without reading them. */
export async function describeFiles({ paths, blockCount }: RawBlocks): Promise<string> {
  const files = await Promise.all(paths.map((path) => stat(path)));
  return JSON.stringify([blockCount, files.map(({ size }) => size)]);
}
