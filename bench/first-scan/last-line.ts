const lineFeed = 10;
/** The block number is the first field of the header, so the start of a line is sufficient. */
const headBytes = 64;

/** Finds the starts of lines in text that arrives in pieces, and returns the block number of the last complete line. */
export class LastLine {
  /** The start of the incomplete line. */
  #open: Buffer = Buffer.alloc(0);
  #last: Buffer | undefined;

  push(piece: Buffer): void {
    const end = piece.lastIndexOf(lineFeed);
    if (end < 0) {
      if (this.#open.length < headBytes) this.#open = startOf(this.#open, piece);
      return;
    }
    const before = end === 0 ? -1 : piece.lastIndexOf(lineFeed, end - 1);
    this.#last =
      before < 0
        ? startOf(this.#open, piece.subarray(0, end))
        : startOf(Buffer.alloc(0), piece.subarray(before + 1, end));
    this.#open = startOf(Buffer.alloc(0), piece.subarray(end + 1));
  }

  number(): number | undefined {
    return this.#last === undefined ? undefined : numberOfLine(this.#last);
  }
}

/** Returns the block number of a line. */
export function numberOfLine(line: Buffer): number {
  const found = /^\{"header":\{"number":(\d+)/.exec(line.toString('latin1', 0, headBytes));
  return Number(found?.[1]);
}

function startOf(open: Buffer, more: Buffer): Buffer {
  return Buffer.concat([open, more.subarray(0, headBytes - open.length)]);
}
