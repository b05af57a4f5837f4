import { Buffer } from 'node:buffer';

/** A value with more parts than this many is not decoded: an IDL can describe arrays of empty values, which need no bytes. */
const partCountMax = 20_000;
/** The decoded text of one instruction or event is at most this long. Its data is at most 10 KB on today's ledgers. */
const textLengthMax = 1 << 20;

/** Reads the data of one instruction or event and collects the text of its values. */
export class Cursor {
  bytes: Buffer = Buffer.alloc(0);
  view = new DataView<ArrayBufferLike>(this.bytes.buffer, 0, 0);
  /** Where the data starts. */
  start = 0;
  at = 0;
  end = 0;
  text = '';
  /** Why the data cannot be decoded. */
  fault: string | undefined;
  #partCount = 0;

  /** Starts at a range of bytes, with an empty text. */
  load(memory: Buffer, view: DataView, at: number, end: number): void {
    this.bytes = memory;
    this.view = view;
    this.start = at;
    this.at = at;
    this.end = end;
    this.text = '';
    this.fault = undefined;
    this.#partCount = 0;
  }

  /** Moves over the next bytes. Returns where they start, or -1 if there are fewer. */
  take(byteCount: number): number {
    const { at } = this;
    if (byteCount > this.end - at) return this.fail('the data is too short');
    this.at = at + byteCount;
    return at;
  }

  fail(reason: string): -1 {
    this.fault ??= reason;
    return -1;
  }

  /** Counts an item or a nested value. Returns whether another one may be decoded. */
  enter(): boolean {
    if (this.fault !== undefined) return false;
    this.#partCount++;
    if (this.#partCount <= partCountMax && this.text.length <= textLengthMax) return true;
    this.fail('the decoded value is too large');
    return false;
  }
}
