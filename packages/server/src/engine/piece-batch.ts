/** Pieces of text on their way from a thread: small ones are put into one batch, and taken out at the other side. */
import type { Coverage, PartPiece, PieceBatch } from './engine-messages.ts';

const rowLength = 5;
/** The slot of a piece that ends in the middle of a line. */
const noSlot = -1;

/** What is gathered is sent when it reaches this. */
export const batchBytesGoal = 1 << 18;
/** A piece this large is not worth a second copy: it gets a buffer of its own. */
const aloneBytesMin = 1 << 17;

export class PieceBatchWriter {
  readonly #drafts: Uint8Array[];
  #draft: Uint8Array | undefined;
  #length = 0;
  #table: number[] = [];

  /** Drafts that are not in use, for all writers of a thread: one for each run would be most of what short runs allocate. */
  constructor(drafts: Uint8Array[]) {
    this.#drafts = drafts;
  }

  /** Copies a piece in. Answers the batches that are full by that, in order. */
  add(part: number, text: Uint8Array, coverage: Coverage | undefined): PieceBatch[] {
    const full: PieceBatch[] = [];
    const header = coverage?.headerLine;
    const length = text.length + (header?.length ?? 0);
    if (length >= aloneBytesMin || this.#length + length > batchBytesGoal) {
      const gathered = this.take();
      if (gathered !== undefined) full.push(gathered);
    }
    this.#table.push(part, text.length, coverage?.slot ?? noSlot, header?.length ?? 0);
    this.#table.push(coverage?.endsWithLine === true ? 1 : 0);
    if (length >= aloneBytesMin) {
      const bytes = Buffer.allocUnsafeSlow(length);
      bytes.set(text);
      if (header !== undefined) bytes.set(header, text.length);
      full.push({ bytes, table: this.#takeTable() });
      return full;
    }
    this.#draft ??= this.#drafts.pop() ?? Buffer.allocUnsafeSlow(batchBytesGoal);
    this.#draft.set(text, this.#length);
    if (header !== undefined) this.#draft.set(header, this.#length + text.length);
    this.#length += length;
    return full;
  }

  /** What has been gathered, undefined if that is nothing. */
  take(): PieceBatch | undefined {
    const draft = this.#draft;
    if (draft === undefined) return undefined;
    // Memory that is not zeroed first: all of it is written.
    const bytes = Buffer.allocUnsafeSlow(this.#length);
    bytes.set(draft.subarray(0, this.#length));
    this.#length = 0;
    this.#drafts.push(draft);
    this.#draft = undefined;
    return { bytes, table: this.#takeTable() };
  }

  #takeTable(): Float64Array {
    const table = Float64Array.from(this.#table);
    this.#table = [];
    return table;
  }
}

export function readBatch({ bytes, table }: PieceBatch): PartPiece[] {
  const pieces: PartPiece[] = [];
  let at = 0;
  for (let row = 0; row < table.length; row += rowLength) {
    const [part, length, slot, headerLength, endsWithLine] = table.subarray(row, row + rowLength);
    const headerAt = at + (length as number);
    const end = headerAt + (headerLength as number);
    const headerLine = bytes.subarray(headerAt, end);
    const coverage =
      slot === noSlot
        ? undefined
        : { slot: slot as number, headerLine, endsWithLine: endsWithLine === 1 };
    pieces.push({ part: part as number, bytes: bytes.subarray(at, headerAt), coverage });
    at = end;
  }
  return pieces;
}
