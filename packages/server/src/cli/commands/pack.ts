import { systemClock } from '@sluice/base/clock';
import { addDetail, CodedError, isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { readBlockFiles } from '@sluice/source/files/read-block-files';
import { type BlockLine, noBlocks } from '@sluice/source/files/read-block-lines';
import {
  type NormalizeOptions,
  normalizeDefaults,
} from '@sluice/source/normalize/normalize-options';
import { blockReaders } from '@sluice/source/read-block';
import { Command } from 'commander';
import { SegmentWriter } from '../../segment/write/segment-writer.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { addNormalizeOptions, chooseNormalize, type NormalizeChoice } from '../normalize-choice.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';
import { writeFileWhole } from '../write-file-whole.ts';
import { checkNotInput, checkOutput } from '../write-output.ts';

interface PackOptions extends NormalizeChoice {
  readonly out: string;
  readonly force?: boolean;
}

export function buildPackCommand(context: CommandContext): Command {
  const command = new Command('pack')
    .description('Create a segment from files of blocks.')
    .argument(
      '<blocks...>',
      'files of lines {"slot":N,"block":…}, plain, gzip, or zstd (Node 22.15 and later)',
    )
    .requiredOption('--out <file>', 'the segment to write')
    .option('--force', 'overwrite an existing segment');
  return addNormalizeOptions(command)
    .addHelpText('after', examples)
    .action((paths: string[], options: PackOptions) => pack(paths, options, context));
}

const examples = `
Examples:
  $ sluice simulate --profile 2025 --blocks 100 --out blocks.jsonl.gz
  $ sluice pack --out blocks.segment blocks.jsonl.gz
  $ sluice pack --votes keep --allow-missing logs,rewards --out old.segment 2020-*.jsonl.gz

Slots must ascend across all files in the given order; blocks need not be linked. A segment has limits: when one is reached, the
segment is complete, and the command prints the position of the next block.`;

async function pack(
  paths: readonly string[],
  options: PackOptions,
  context: CommandContext,
): Promise<void> {
  const output = { path: options.out, force: options.force ?? false };
  await checkOutput(output);
  await checkNotInput(options.out, paths);
  const signal = stopSignal();
  const progress = new Progress({ unit: 'blocks' }, { err: context.err, clock: systemClock });
  const normalize: NormalizeOptions = {
    ...normalizeDefaults,
    ...chooseNormalize(options),
  };
  const summary = await writeFileWhole(output, signal, async (write) => {
    const packed = await packBlocks(readBlockFiles(paths, { isAllOrNothing: true }, signal), {
      normalize,
      write,
      progress,
    });
    // An abort before the first block is not a fault of the files.
    if (packed.blockCount === 0 && !signal.aborted) {
      throw noBlocks(paths);
    }
    return packed;
  });
  progress.finish();
  context.out.write(describe(summary, options.out));
}

interface PackSummary {
  readonly blockCount: number;
  readonly firstSlot: number;
  readonly lastSlot: number;
  readonly transactionCount: number;
  readonly bytes: number;
  /** The first block that did not fit. */
  readonly stoppedAt: BlockLine | undefined;
}

async function packBlocks(
  lines: AsyncIterable<BlockLine>,
  dependencies: {
    normalize: NormalizeOptions;
    write: (bytes: Uint8Array) => void;
    progress: Progress;
  },
): Promise<PackSummary> {
  const { normalize, progress } = dependencies;
  let bytes = 0;
  const writer = new SegmentWriter((piece) => {
    bytes += piece.length;
    dependencies.write(piece);
  });
  let firstSlot = -1;
  let lastSlot = -1;
  let transactionCount = 0;
  let stoppedAt: BlockLine | undefined;
  for await (const line of lines) {
    checkAscent(line, lastSlot);
    if (writer.isFull) {
      stoppedAt = line;
      break;
    }
    const block = readBlock(line, normalize);
    writer.append(block);
    if (firstSlot < 0) firstSlot = line.slot;
    lastSlot = line.slot;
    transactionCount += block.transactions.length;
    progress.add(1, line.bytes.length);
  }
  const { blockCount } = writer;
  writer.finish();
  return { blockCount, firstSlot, lastSlot, transactionCount, bytes, stoppedAt };
}

function checkAscent({ slot, path, line }: BlockLine, before: number): void {
  if (slot > before) return;
  const position = line === undefined ? { path } : { path, line };
  throw new CodedError('block-slots-not-ascending', { ...position, slot, before });
}

function readBlock(line: BlockLine, options: NormalizeOptions): Block {
  try {
    return blockReaders[line.format](line.slot, line.bytes, options).block;
  } catch (error) {
    throw withLine(error, line);
  }
}

function withLine(error: unknown, { path, line }: BlockLine): unknown {
  if (!isCodedError(error)) return error;
  return addDetail(error, line === undefined ? { path } : { path, line });
}

function describe(summary: PackSummary, path: string): string {
  const { blockCount, firstSlot, lastSlot, transactionCount, bytes, stoppedAt } = summary;
  const counts = [
    `${formatCount(blockCount)} ${blockCount === 1 ? 'block' : 'blocks'}`,
    `slots ${firstSlot} to ${lastSlot}`,
    `${formatCount(transactionCount)} transactions`,
    `${formatCount(bytes)} bytes`,
  ];
  const whole = `${path}: ${counts.join(', ')}\n`;
  if (stoppedAt === undefined) return whole;
  const line = stoppedAt.line === undefined ? '' : `, line ${stoppedAt.line}`;
  const firstLeft = `${stoppedAt.path}${line}, slot ${stoppedAt.slot}`;
  return `${whole}The segment is full. The first block that is not in it: ${firstLeft}. Pack the remaining blocks into another segment.\n`;
}
