import { createHash } from 'node:crypto';
import { numberOfLine } from './last-line.ts';
import type { ScanQuery } from './make-queries.ts';
import { readAnswer, type ScanRequest } from './read-answer.ts';

export interface CheckedAnswer {
  readonly textBytes: number;
  /** A hash of all lines except progress marks. */
  readonly checksum: string;
  /** The blocks with a selected record. */
  readonly matchedSlots: readonly number[];
}

const lineFeed = 10;
const arrayStart = Buffer.from('":[');

/**
 * Reads an answer and hashes its lines. A line without records that was neither requested nor is the last one marks progress. The time of
 * these lines varies, so they are ignored.
 */
export async function checkAnswer(request: ScanRequest, query: ScanQuery): Promise<CheckedAnswer> {
  const hash = createHash('sha256');
  const matchedSlots: number[] = [];
  let open: Buffer[] = [];
  const takeLine = (line: Buffer) => {
    const number = numberOfLine(line);
    const isMatch = query.isOfAllBlocks || line.includes(arrayStart);
    if (isMatch) matchedSlots.push(number);
    if (isMatch || number === request.range.last) hash.update(line);
  };
  const { textBytes } = await readAnswer(request, (piece) => {
    let start = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      takeLine(Buffer.concat([...open, piece.subarray(start, end + 1)]));
      open = [];
      start = end + 1;
    }
    if (start < piece.length) open.push(Buffer.from(piece.subarray(start)));
  });
  return { textBytes, checksum: hash.digest('hex'), matchedSlots };
}
