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
import { BatchMemory, type Range, type RowLists } from './batch-memory.ts';
import { GatheredRows, type RecordSource } from './gathered-rows.ts';
import type { WantedSignatures } from './gathered-signatures.ts';

/** A record batch ends after the block with which it reaches this number of rows, so that a reader gets rows early and buffers stay small. */
const batchRowsGoal = 1 << 16;

/** A buffer of at least this length is returned as it is. Shorter ones are joined. */
const ownPieceBytesMin = pieceBytesMax >> 2;
/** The memory in which a thread joins buffers. New memory for each query would burden the garbage collector. */
let joined: Uint8Array | undefined;

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

interface FoundRecords extends RecordSource {
  /** Loads the keys of the selected records that are not in memory. */
  readonly loadKeys: () => void;
}

/** A part of a message: bytes, or where they are in the kernel's memory. */
type Part = Uint8Array | Range;

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
  readonly #scratch: Scratch;
  readonly #signatures: WantedSignatures;

  constructor(open: EngineSegment, options: ArrowWriterOptions, kernel: EngineKernel) {
    this.#open = open;
    this.#kernel = kernel;
    this.#options = options;
    this.#array = ARROW_TABLES[options.arrow.table];
    this.#columns = arrowColumns(options.selection, options.arrow);
    this.#fields = this.#columns.flatMap(({ fields }) => fields);
    this.#hasDictionary = this.#fields.some(usesDictionary);
    this.#scratch = new Scratch(kernel);
    const names = this.#fields.map(({ name }) => name);
    const hasFirst = names.includes('signature');
    this.#signatures = names.includes('signatures') ? 'all' : hasFirst ? 'first' : 'none';
  }

  release(): void {
    this.#scratch.release();
  }

  /** A record batch without rows. */
  headerLine(block: number): Uint8Array {
    const columns = this.#fields.map(({ type }) => emptyColumn(type));
    const dictionary = this.#hasDictionary ? encodeDictionary(emptyColumn({ kind: 'utf8' })) : [];
    return Buffer.concat([...dictionary, ...encodeBatch(columns, 0, this.#metadata(block))]);
  }

  *write({ blocks, found }: SelectedBatch): Generator<Uint8Array> {
    const read = found === undefined ? undefined : this.#recordsOf(found);
    const batches =
      this.#array === undefined
        ? this.#blockRows(blocks, found)
        : this.#recordRows(this.#array, blocks, found);
    for (const batch of batches) {
      const parts = this.#encode(batch, read);
      this.isAtLineEnd = false;
      for (const { piece, isLast } of this.#join(parts)) {
        if (isLast) {
          this.isAtLineEnd = true;
          this.lastLineBlock = batch.lastBlock;
          this.lineCount++;
        }
        yield piece;
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

  /** Returns the functions that load the columns of a step and make the decoder, once for all record batches, and a function that loads missing keys. */
  #recordsOf({ columns, selected }: FoundRows): FoundRecords {
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
    const loadKeys = () => loadKeyTexts(this.#open, columns, selected);
    return { columns, bind, decoder, loadKeys };
  }

  /** Returns a record batch with its dictionary, in parts. */
  #encode({ lists: found, lastBlock }: BatchRows, source: FoundRecords | undefined): Part[] {
    const { exports } = this.#kernel;
    this.#scratch.reset();
    const isBinary = this.#options.arrow.addresses === 'binary';
    const { decoded } = this.#options.arrow;
    const typed = decoded && source?.decoder().readTyped(decoded, found, this.#scratch);
    const lists = typed?.positions === undefined ? found : this.#pick(found, typed.positions);
    const memory = new BatchMemory(this.#kernel, this.#scratch, lists);
    try {
      const options = { open: this.#open, source, isBinary, signatures: this.#signatures, typed };
      const rows = new GatheredRows(memory, options);
      const pending = this.#columns.flatMap(({ gather }) => gather(rows));
      if (source !== undefined && exports.hasMissingKey() !== 0) source.loadKeys();
      if (source !== undefined && isBinary) rows.keys.loadBytes();
      const texts = this.#hasDictionary ? rows.dictionary() : undefined;
      const dictionary = texts === undefined ? [] : encodeDictionary(texts());
      const columns = pending.map((finish) => finish());
      const batch = encodeBatch(columns, lists.count, this.#metadata(lastBlock));
      return [...dictionary, ...batch].map((part) => this.#locate(part));
    } finally {
      exports.endKeys();
    }
  }

  /** Returns the lists of the rows at some positions, which ascend and can repeat. */
  #pick({ rows, transactions, runs }: RowLists, positions: Uint32Array): RowLists {
    const count = positions.length;
    const [picked, owners] = [this.#scratch.reserve(count * 4), this.#scratch.reserve(count * 4)];
    const { ints } = this.#kernel;
    for (let i = 0; i < count; i++) {
      const position = positions[i] ?? 0;
      ints[picked / 4 + i] = ints[rows / 4 + position] ?? 0;
      ints[owners / 4 + i] = ints[transactions / 4 + position] ?? 0;
    }
    let next = 0;
    const ends = runs.map(({ block, end }) => {
      while ((positions[next] ?? end) < end) next++;
      return { block, end: next };
    });
    return { rows: picked, transactions: owners, count, runs: ends };
  }

  /** Returns where a part is in the kernel's memory, because a view of it is invalid once another query has reserved more. */
  #locate(part: Uint8Array): Part {
    if (part.buffer !== this.#kernel.bytes.buffer) return part;
    return { at: part.byteOffset, length: part.length };
  }

  /** Joins short parts to pieces, and divides long ones. */
  *#join(parts: readonly Part[]): Generator<{ piece: Uint8Array; isLast: boolean }> {
    joined ??= Buffer.allocUnsafeSlow(pieceBytesMax);
    let left = parts.reduce((sum, { length }) => sum + length, 0);
    let used = 0;
    const take = (piece: Uint8Array) => {
      left -= piece.length;
      used = 0;
      return { piece, isLast: left === 0 };
    };
    for (const part of parts) {
      const isOwn = part.length >= ownPieceBytesMin;
      if (used > 0 && (isOwn || used + part.length > pieceBytesMax))
        yield take(joined.subarray(0, used));
      if (!isOwn) {
        joined.set(this.#bytesOf(part), used);
        used += part.length;
        continue;
      }
      for (let start = 0; start < part.length; start += pieceBytesMax)
        yield take(this.#bytesOf(part).subarray(start, start + pieceBytesMax));
    }
    if (used > 0) yield take(joined.subarray(0, used));
  }

  #bytesOf(part: Part): Uint8Array {
    if (part instanceof Uint8Array) return part;
    return this.#kernel.bytes.subarray(part.at, part.at + part.length);
  }

  #metadata(block: number): ArrowMetadata {
    const { headers } = this.#open.segment;
    const hasFinalized = this.#options.selection.fields.block.includes('finalizedHead');
    return arrowMetadata(headers.numberAt(block), headers.hashAt(block), hasFinalized);
  }
}

function rowCount({ columns }: FoundRows, array: RecordArray, starts: number): number {
  if (array === 'rewards') return columns.stored('rewKey').count;
  const { transactionCount, kernel } = columns;
  return starts === 0 ? transactionCount : (kernel.ints[starts / 4 + transactionCount] ?? 0);
}
