import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { convertBlock } from '@sluice/source/files/convert-block';
import { readBlockFiles } from '@sluice/source/files/read-block-files';
import { type BlockLine, noBlocks } from '@sluice/source/files/read-block-lines';
import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';
import { writeFileWhole } from '../write-file-whole.ts';
import { checkNotInput, checkOutput, writeOutput } from '../write-output.ts';

interface ConvertOptions {
  readonly out: string;
  readonly force?: boolean;
}

export function buildConvertCommand(context: CommandContext): Command {
  const command = new Command('convert')
    .description('Convert files of blocks into lines of JSON or into protobufs.')
    .argument(
      '<blocks...>',
      'files of lines {"slot":N,"block":…}, plain, gzip or zstd; archives (*.car); protobufs (SLOT.pb); - for standard input',
    )
    .requiredOption(
      '--out <path>',
      'a file of lines (*.jsonl, *.jsonl.gz, - for standard output), or a folder, for FIRST-LAST.pb',
    )
    .option('--force', 'overwrite an existing file');
  return command
    .addHelpText('after', examples)
    .action(async (paths: string[], options: ConvertOptions) => {
      const found = await stat(options.out).catch(() => undefined);
      const isFolder = found?.isDirectory() === true;
      if (!isFolder && !/(^-|\.jsonl|\.jsonl\.gz)$/.test(options.out))
        command.error('error: --out needs a name *.jsonl or *.jsonl.gz, -, or an existing folder');
      await (isFolder ? writeProtobufs : writeLines)(paths, options, context);
    });
}

const examples = `
Examples:
  $ sluice convert --out epoch-800.jsonl.gz epoch-800.car
  $ mkdir blocks && sluice convert --out blocks epoch-800.car
  $ sluice convert --out - blocks/345600000-346031999.pb | head -1

A protobuf does not contain its slot, so a file of protobufs is named after the slots of its first and last block, and each
of its blocks must be the child of the one before it. Every converted block is read again and compared.`;

async function writeLines(
  paths: readonly string[],
  { out, force = false }: ConvertOptions,
  context: CommandContext,
): Promise<void> {
  await checkNotInput(out, paths);
  const signal = stopSignal();
  const conversion = new Conversion(paths, context);
  await writeOutput({ path: out, force }, conversion.lines(signal), { out: context.out, signal });
  conversion.finish(out);
}

/** Writes the blocks as one file of protobufs, whose name is known at the end. */
async function writeProtobufs(
  paths: readonly string[],
  { out: folder, force = false }: ConvertOptions,
  context: CommandContext,
): Promise<void> {
  const signal = stopSignal();
  const conversion = new Conversion(paths, context);
  const path = join(folder, `blocks.${process.pid}.part`);
  await writeFileWhole({ path, force: true }, signal, async (write) => {
    for await (const piece of conversion.protobufs(signal)) write(piece);
  });
  const target = join(folder, `${conversion.firstSlot}-${conversion.lastSlot}.pb`);
  try {
    await rename(path, await checkOutput({ path: target, force }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  conversion.finish(target);
}

class Conversion {
  readonly #paths: readonly string[];
  readonly #context: CommandContext;
  readonly #progress: Progress;
  #blockCount = 0;
  firstSlot = -1;
  lastSlot = -1;

  constructor(paths: readonly string[], context: CommandContext) {
    this.#paths = paths;
    this.#context = context;
    this.#progress = new Progress({ unit: 'blocks' }, { err: context.err, clock: systemClock });
  }

  async *lines(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const line of this.#read(signal)) {
      const { bytes } = convertBlock(line, 'node');
      yield Buffer.concat([Buffer.from(`{"slot":${line.slot},"block":`), bytes, lineEnd]);
      this.#count(line);
    }
  }

  async *protobufs(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const line of this.#read(signal)) {
      const { bytes, block } = convertBlock(line, 'protobuf');
      const { parentSlot } = block.header;
      if (this.#blockCount > 0 && parentSlot !== this.lastSlot) {
        const reason = `its parent has slot ${parentSlot}, but the block before it has ${this.lastSlot}`;
        const { slot, path } = line;
        throw new CodedError('cli-block-not-convertible', { path, slot, reason });
      }
      yield encodeLength(bytes.length);
      yield bytes;
      this.#count(line);
    }
  }

  async *#read(signal: AbortSignal): AsyncGenerator<BlockLine> {
    try {
      yield* readBlockFiles(this.#paths, { isAllOrNothing: true }, signal);
      // An abort before the first block is not a fault of the files.
      if (this.#blockCount === 0 && !signal.aborted) throw noBlocks(this.#paths);
    } finally {
      this.#progress.stop();
    }
  }

  #count({ slot, bytes }: BlockLine): void {
    if (this.#blockCount++ === 0) this.firstSlot = slot;
    this.lastSlot = slot;
    this.#progress.add(1, bytes.length);
  }

  finish(path: string): void {
    const { out, err } = this.#context;
    const slots = `slots ${this.firstSlot} to ${this.lastSlot}`;
    const text = `${path}: ${formatCount(this.#blockCount)} blocks, ${slots}\n`;
    (path === '-' ? err : out).write(text);
  }
}

const lineEnd = Buffer.from('}\n');

function encodeLength(length: number): Uint8Array {
  const bytes: number[] = [];
  let left = length;
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return Uint8Array.from([...bytes, left]);
}
