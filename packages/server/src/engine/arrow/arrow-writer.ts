/**
 * Writes the selected rows of one table as Arrow record batches, without JSON in between. A batch has the rows of whole blocks, and its
 * metadata says up to which block they are complete.
 */
import {
  type ArrowField,
  type ArrowMetadata,
  emptyColumn,
  usesDictionary,
} from '@sluice/arrow/arrow-type';
import { encodeBatch, encodeDictionary } from '@sluice/arrow/ipc-messages';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import { ARROW_TABLES, arrowMetadata } from '@sluice/protocol/arrow-table';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { ArrowOutput, Selection } from '../../query/query.ts';
import {
  type BatchWriter,
  type BlockSpan,
  type FoundRows,
  pieceBytesMax,
  type SelectedBatch,
} from '../batch-writer.ts';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import { type BlockRows, rowsOfBlocks } from '../group-columns.ts';
import { MARK_BITS } from '../group-selection.ts';
import { loadKeyTexts } from '../load-key-texts.ts';
import { startsOf } from '../record-programs.ts';
import { RowDecoder } from '../row-decoder.ts';
import { Scratch } from '../scratch.ts';
import type { Step, StepContext, StepOperands } from '../steps.ts';
import { arrowColumns } from './arrow-columns.ts';
import type { RowLists } from './block-values.ts';
import { GatheredRows } from './gathered-rows.ts';

/** A record batch ends after the block with which it reaches this number of rows, so that a reader gets rows early and buffers stay small. */
const batchRowsGoal = 1 << 14;

/** The buffers of finished writers, which the next ones use: new ones would burden the garbage collector. */
const freeBuffers: Uint8Array[] = [];
const freeCountMax = 4;
const keptBytesMax = 1 << 24;
const noBytes = new Uint8Array(0);

interface ArrowWriterOptions {
  readonly selection: Selection;
  readonly arrow: ArrowOutput;
  readonly idls: IdlRegistry;
}

/** The rows of one record batch, which is complete up to a block. */
interface BatchRows {
  readonly lists: RowLists;
  readonly lastBlock: number;
}

interface RowReader {
  readonly bind: (step: Step) => StepOperands;
  readonly decoder: () => RowDecoder;
}

export class ArrowWriter implements BatchWriter {
  isAtLineEnd = true;
  lastLineBlock = -1;
  lineCount = 0;
  readonly #open: EngineSegment;
  readonly #kernel: EngineKernel;
  readonly #options: ArrowWriterOptions;
  readonly #array: RecordArray | undefined;
  readonly #columns: ReturnType<typeof arrowColumns>;
  readonly #fields: readonly ArrowField[];
  readonly #hasDictionary: boolean;
  /** Memory for one record batch. */
  readonly #scratch: Scratch;
  /** The address of a table with the index of each key of the segment in the batch, plus one; 0 while there is no such table. */
  #indexTable = 0;
  #out: Uint8Array = noBytes;

  constructor(open: EngineSegment, options: ArrowWriterOptions, kernel: EngineKernel) {
    this.#open = open;
    this.#kernel = kernel;
    this.#options = options;
    this.#array = ARROW_TABLES[options.arrow.table];
    this.#columns = arrowColumns(options.selection, options.arrow);
    this.#fields = this.#columns.flatMap(({ fields }) => fields);
    this.#hasDictionary = this.#fields.some(usesDictionary);
    this.#scratch = new Scratch(kernel);
  }

  release(): void {
    this.#scratch.release();
    if (this.#out.length <= keptBytesMax && freeBuffers.length < freeCountMax)
      freeBuffers.push(this.#out);
    if (this.#indexTable !== 0) this.#kernel.release(this.#indexTable);
  }

  /** A record batch without rows. */
  headerLine(block: number): Uint8Array {
    const columns = this.#fields.map(({ type }) => emptyColumn(type));
    const dictionary = this.#hasDictionary ? encodeDictionary(emptyColumn({ kind: 'utf8' })) : [];
    return Buffer.concat([...dictionary, ...encodeBatch(columns, 0, this.#metadata(block))]);
  }

  *write({ blocks, found }: SelectedBatch): Generator<Uint8Array> {
    const read = found === undefined ? undefined : this.#reader(found);
    const batches =
      this.#array === undefined
        ? this.#blockRows(blocks, found)
        : this.#recordRows(this.#array, blocks, found);
    for (const { lists, lastBlock } of batches) {
      const length = this.#encode({ lists, lastBlock }, found, read);
      for (let start = 0; start < length; start += pieceBytesMax) {
        const end = Math.min(start + pieceBytesMax, length);
        this.isAtLineEnd = end === length;
        if (this.isAtLineEnd) {
          this.lastLineBlock = lastBlock;
          this.lineCount++;
        }
        yield this.#out.subarray(start, end);
      }
    }
  }

  /** Every record batch is returned at once. */
  *flush(): Generator<Uint8Array> {}

  /** The blocks of the range that have a selected record, or all of them. */
  *#blockRows({ from, to }: BlockSpan, found: FoundRows | undefined): Generator<BatchRows> {
    const wanted = new Set<number>();
    if (this.#options.selection.includeAllBlocks)
      for (let block = from; block < to; block++) wanted.add(block);
    else if (found !== undefined) {
      const hasRows = this.#rowFinder(found);
      for (const rows of rowsOfBlocks(found.columns, to))
        if (rows.block >= from && hasRows(rows)) wanted.add(rows.block);
    }
    if (wanted.size === 0) return;
    const runs = [...wanted].map((block, i) => ({ block, end: i + 1 }));
    yield { lists: { rows: 0, transactions: 0, count: runs.length, runs }, lastBlock: to - 1 };
  }

  /** Returns the function that says whether a block has a selected record. */
  #rowFinder({ selected }: FoundRows): (rows: BlockRows) => boolean {
    const { bytes } = this.#kernel;
    const isSet = (flags: number, first: number, end: number) =>
      bytes.subarray(flags + first, flags + end).some((flag) => flag !== 0);
    const { marks, flags } = selected;
    return ({ firstTransaction, transactionEnd, firstReward, rewardEnd }) =>
      isSet(marks, firstTransaction, transactionEnd) ||
      (flags.rewards !== 0 && isSet(flags.rewards, firstReward, rewardEnd));
  }

  /** The selected rows of a kind in the blocks of the range, in batches of whole blocks. */
  *#recordRows(
    array: RecordArray,
    { from, to }: BlockSpan,
    found: FoundRows | undefined,
  ): Generator<BatchRows> {
    if (found === undefined || found.selected.flags[array] === 0) return;
    const { columns, selected } = found;
    const flags = selected.flags[array];
    const starts = startsOf(columns, array);
    const countMax = rowCount(found, array, starts);
    const rows = columns.scratch.reserve(countMax * 4);
    const transactions = columns.scratch.reserve(countMax * 4);
    const { collectRows, collectBlockRows } = this.#kernel.exports;
    let count = 0;
    let runs: { block: number; end: number }[] = [];
    for (const block of rowsOfBlocks(columns, to)) {
      if (block.block < from) continue;
      const before = count;
      count =
        array === 'rewards'
          ? collectBlockRows(flags, block.firstReward, block.rewardEnd, rows, count)
          : collectRows(
              ...[flags, starts, selected.marks, MARK_BITS[array]],
              ...[block.firstTransaction, block.transactionEnd],
              ...[rows, transactions, count],
            );
      if (count > before) runs.push({ block: block.block, end: count });
      if (count < batchRowsGoal) continue;
      yield { lists: { rows, transactions, count, runs }, lastBlock: block.block };
      count = 0;
      runs = [];
    }
    if (count > 0) yield { lists: { rows, transactions, count, runs }, lastBlock: to - 1 };
  }

  /** Returns the functions that load the columns of a step, and that make the decoder, once for all record batches. */
  #reader({ columns, selected }: FoundRows): RowReader {
    const bound = new Map<Step, StepOperands>();
    let made: RowDecoder | undefined;
    const decoder = () => {
      made ??= new RowDecoder(columns, selected, this.#options.idls);
      return made;
    };
    const context: StepContext = {
      dialect: this.#options.selection.dialect,
      lookupTable: 0,
      setInt: () => undefined,
      decode: (array) => decoder().write(array),
    };
    const bind = (step: Step) => {
      const operands = bound.get(step) ?? step.bind(columns, context);
      bound.set(step, operands);
      return operands;
    };
    return { bind, decoder };
  }

  /** Writes a record batch with its dictionary to the buffer. Returns its length. */
  #encode(
    { lists, lastBlock }: BatchRows,
    found: FoundRows | undefined,
    read: RowReader | undefined,
  ): number {
    const { exports } = this.#kernel;
    this.#scratch.reset();
    const rows = new GatheredRows({
      open: this.#open,
      kernel: this.#kernel,
      scratch: this.#scratch,
      columns: found?.columns,
      lists,
      bind: read?.bind,
      decoder: read?.decoder,
      isBinary: this.#options.arrow.addresses === 'binary',
      distinct: this.#beginKeys(found),
    });
    try {
      const pending = this.#columns.flatMap(({ gather }) => gather(rows));
      if (found !== undefined && exports.hasMissingKey() !== 0)
        loadKeyTexts(this.#open, found.columns, found.selected);
      const texts = this.#hasDictionary ? rows.dictionary() : undefined;
      const dictionary = texts === undefined ? [] : encodeDictionary(texts());
      const columns = pending.map((finish) => finish());
      const batch = encodeBatch(columns, lists.count, this.#metadata(lastBlock));
      return this.#copyOut([...dictionary, ...batch]);
    } finally {
      exports.endKeys();
    }
  }

  /** Prepares the table of the keys of a batch. Returns the address of the list of their ids. */
  #beginKeys(found: FoundRows | undefined): number {
    const kernel = this.#kernel;
    if (found === undefined) {
      kernel.exports.beginKeys(0, 0);
      return 0;
    }
    const { columns } = found;
    const { addressCount } = this.#open.segment.directory;
    const keys = columns.stored('txKeys');
    const starts = columns.made('keyStarts');
    if (this.#indexTable === 0) {
      this.#indexTable = kernel.allocate(addressCount * 4);
      kernel.bytes.fill(0, this.#indexTable, this.#indexTable + addressCount * 4);
    }
    const distinct = this.#scratch.reserve(addressCount * 4);
    kernel.exports.setKeys(starts.at, keys.at, this.#open.keyTable);
    kernel.exports.beginKeys(this.#indexTable, distinct);
    return distinct;
  }

  #copyOut(parts: readonly Uint8Array[]): number {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (this.#out.length === 0) this.#out = freeBuffers.pop() ?? noBytes;
    if (length > this.#out.length) this.#out = Buffer.allocUnsafeSlow(Math.ceil(length * 1.5));
    let at = 0;
    for (const part of parts) {
      this.#out.set(part, at);
      at += part.length;
    }
    return length;
  }

  #metadata(block: number): ArrowMetadata {
    const { headers } = this.#open.segment;
    const hasFinalized = this.#options.selection.fields.block.includes('finalizedHead');
    return arrowMetadata(headers.numberAt(block), headers.hashAt(block), hasFinalized);
  }
}

/** Returns the number of rows of a kind in memory. */
function rowCount({ columns }: FoundRows, array: RecordArray, starts: number): number {
  if (array === 'rewards') return columns.stored('rewKey').count;
  const { transactionCount, kernel } = columns;
  return starts === 0 ? transactionCount : (kernel.ints[starts / 4 + transactionCount] ?? 0);
}
