/** Writes the selected rows as lines of JSON with the kernel `write-lines.ts`, one line for each block. */
import { elementAt } from '@sluice/base/element-at';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import * as layout from '@sluice/kernels/layout/writing';
import type { Selection } from '../query/query.ts';
import {
  type BatchWriter,
  type BlockSpan,
  type FoundRows,
  pieceBytesGoal,
  pieceBytesMax,
  type SelectedBatch,
} from './batch-writer.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { rowsOfBlocks } from './group-columns.ts';
import type { HeaderTexts } from './header-texts.ts';
import { loadKeyTexts } from './load-key-texts.ts';
import { RecordPrograms } from './record-programs.ts';

interface LineWriterOptions {
  readonly selection: Selection;
  readonly idls: IdlRegistry;
  /** The block that always gets a line, by its number in the segment; -1 if none does. */
  readonly alwaysLast: number;
}

const headerCountMax = 512;

/**
 * A piece of text is returned when it reaches the goal. A line that exceeds the buffer is returned in several pieces, and the last of them
 * ends with that line, so that a reader of whole lines does not wait for the next one.
 */
export class LineWriter implements BatchWriter {
  isAtLineEnd = true;
  lastLineBlock = -1;
  lineCount = 0;
  readonly #open: EngineSegment;
  readonly #kernel: EngineKernel;
  readonly #isAllWanted: boolean;
  readonly #alwaysLast: number;
  readonly #headers: HeaderTexts;
  /** How many headers are loaded when a line needs one that is not in memory. The number is doubled each time. */
  #headerCount = 1;
  readonly #programs: RecordPrograms;
  /** The addresses of the kernel's tables: what the lines consist of, and how far they are written. */
  readonly #lines: number;
  readonly #state: number;
  #out: number;
  #outBytes = pieceBytesMax;
  #at: number;

  constructor(
    open: EngineSegment,
    { selection, idls, alwaysLast }: LineWriterOptions,
    kernel: EngineKernel,
  ) {
    this.#open = open;
    this.#kernel = kernel;
    this.#isAllWanted = selection.includeAllBlocks;
    this.#alwaysLast = alwaysLast;
    this.#headers = open.useHeaders(selection.fields.block);
    this.#programs = new RecordPrograms(selection, kernel, idls);
    this.#lines = kernel.allocate(layout.LINES_BYTES + layout.STATE_BYTES);
    this.#state = this.#lines + layout.LINES_BYTES;
    kernel.bytes.fill(0, this.#lines, this.#state + layout.STATE_BYTES);
    this.#out = kernel.allocate(this.#outBytes);
    this.#at = this.#out;
  }

  release(): void {
    this.#headers.users--;
    this.#kernel.release(this.#out);
    this.#kernel.release(this.#lines);
    this.#programs.release();
  }

  headerLine(block: number): Uint8Array {
    return Buffer.concat([lineStart, this.#headers.bytesOf(block), lineEnd]);
  }

  /** If no rows were found, lines are written only if the query includes all blocks, or for the last block. */
  *write({ firstBlock, blocks, found }: SelectedBatch): Generator<Uint8Array> {
    const kernel = this.#kernel;
    const { from, to } = blocks;
    if (found !== undefined) this.#programs.bind(found.columns, found.selected);
    else if (!this.#isAllWanted && (this.#alwaysLast < from || this.#alwaysLast >= to)) return;
    const keys = this.#prepareLines(firstBlock, blocks, found);
    let isContinued = false;
    for (;;) {
      const before = this.#at;
      // Another query may have used the kernel since the last piece.
      kernel.exports.setKeys(...keys);
      this.#at = kernel.exports.writeLines(
        this.#state,
        this.#programs.kinds,
        this.#lines,
        to,
        this.#at,
        isContinued ? before + 1 : this.#out + pieceBytesGoal,
        this.#out + this.#outBytes,
      );
      const next = this.#readState();
      if (next >= to) break;
      if (kernel.exports.takeHeaderMissing() !== 0) {
        this.#headers.load(next, Math.min(next + this.#headerCount, to));
        this.#headerCount = Math.min(this.#headerCount * 2, headerCountMax);
        continue;
      }
      if (kernel.exports.takeKeyMissing() !== 0 && found !== undefined) {
        loadKeyTexts(this.#open, found.columns, found.selected);
        continue;
      }
      if (this.#programs.provide(next)) continue;
      // A record that does not fit an empty buffer needs a larger one.
      if (this.#at === before && this.#at === this.#out) this.#growOut();
      yield* this.#take(1);
      isContinued = !this.isAtLineEnd;
    }
    yield* this.#take(isContinued ? 1 : pieceBytesGoal);
  }

  flush(): Generator<Uint8Array> {
    return this.#take(1);
  }

  /** Fills the kernel's table for the lines of a batch. Returns the arguments of `setKeys`. */
  #prepareLines(
    firstBlock: number,
    { from, to }: BlockSpan,
    found: FoundRows | undefined,
  ): [starts: number, keys: number, table: number] {
    const blocks = found === undefined ? 0 : this.#blockTable(firstBlock, to, found);
    const { ints } = this.#kernel;
    const lines = this.#lines;
    ints[(lines + layout.LINES_MARKS) / 4] = found?.selected.marks ?? 0;
    ints[(lines + layout.LINES_BLOCKS) / 4] = blocks;
    ints[(lines + layout.LINES_FIRST_BLOCK) / 4] = firstBlock;
    ints[(lines + layout.LINES_HEADERS) / 4] = this.#headers.tableAt;
    ints[(lines + layout.LINES_IS_ALL) / 4] = this.#isAllWanted ? 1 : 0;
    ints[(lines + layout.LINES_ALWAYS) / 4] = this.#alwaysLast;
    ints[(this.#state + layout.STATE_BLOCK) / 4] = from;
    if (found === undefined) return [0, 0, 0];
    const { columns } = found;
    return [columns.made('keyStarts').at, columns.stored('txKeys').at, this.#open.keyTable];
  }

  /** Writes where the kernel finds the rows of each block from `firstBlock` up to `endBlock`. */
  #blockTable(firstBlock: number, endBlock: number, { columns }: FoundRows): number {
    const at = columns.scratch.reserveZeroed((endBlock - firstBlock) * layout.BLOCK_BYTES);
    const { ints } = this.#kernel;
    for (const rows of rowsOfBlocks(columns, endBlock)) {
      const entry = at + (rows.block - firstBlock) * layout.BLOCK_BYTES;
      ints[(entry + layout.BLOCK_FIRST_TRANSACTION) / 4] = rows.firstTransaction;
      ints[(entry + layout.BLOCK_TRANSACTION_END) / 4] = rows.transactionEnd;
      ints[(entry + layout.BLOCK_FIRST_REWARD) / 4] = rows.firstReward;
      ints[(entry + layout.BLOCK_REWARD_END) / 4] = rows.rewardEnd;
    }
    return at;
  }

  /** Returns the block at which the kernel stopped. */
  #readState(): number {
    const { ints } = this.#kernel;
    const read = (offset: number) => elementAt(ints, (this.#state + offset) / 4);
    this.isAtLineEnd = read(layout.STATE_IS_IN_LINE) === 0;
    this.lineCount = read(layout.STATE_LINE_COUNT);
    if (this.lineCount > 0) this.lastLineBlock = read(layout.STATE_LAST_LINE);
    return read(layout.STATE_BLOCK);
  }

  *#take(least: number): Generator<Uint8Array> {
    const length = this.#at - this.#out;
    if (length < least) return;
    const piece = this.#kernel.bytes.subarray(this.#out, this.#at);
    this.#at = this.#out;
    yield piece;
  }

  #growOut(): void {
    const kernel = this.#kernel;
    kernel.release(this.#out);
    this.#outBytes *= 4;
    this.#out = kernel.allocate(this.#outBytes);
    this.#at = this.#out;
  }
}

const lineStart = new TextEncoder().encode('{"header":');
const lineEnd = new TextEncoder().encode('}\n');
