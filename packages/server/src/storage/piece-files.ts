import { closeSync, openSync } from 'node:fs';
import { type WriteAt, writeAll } from './range-file.ts';

export interface PieceFiles {
  /** The files of the pieces get this name with their numbers. */
  readonly path: string;
  readonly pieceBytes: number;
  /** Called when a piece is complete. */
  readonly store: (number: number, path: string) => void;
}

interface OpenPiece {
  readonly file: number;
  readonly path: string;
  written: number;
}

/**
 * Writes an index to files of its pieces and passes each on as soon as it is complete. An index is written front to back in two places, its
 * pages and its lists, and its header at the end, so that few pieces are incomplete at a time.
 */
export function writePieces<Result>(
  { path: basePath, pieceBytes, store }: PieceFiles,
  fill: (write: WriteAt) => Result,
): Result {
  const open = new Map<number, OpenPiece>();
  const openPiece = (number: number) => {
    const path = `${basePath}.${number}`;
    const piece = open.get(number) ?? { file: openSync(path, 'w'), path, written: 0 };
    open.set(number, piece);
    return piece;
  };
  const finish = (number: number, { file, path }: OpenPiece) => {
    open.delete(number);
    closeSync(file);
    store(number, path);
  };
  const write: WriteAt = (position, bytes) => {
    for (let done = 0; done < bytes.length; ) {
      const number = Math.floor((position + done) / pieceBytes);
      const offset = position + done - number * pieceBytes;
      const part = bytes.subarray(done, done + pieceBytes - offset);
      const piece = openPiece(number);
      writeAll(piece.file, part, offset);
      piece.written += part.length;
      done += part.length;
      if (piece.written === pieceBytes) finish(number, piece);
    }
  };
  try {
    const result = fill(write);
    for (const [number, piece] of [...open]) finish(number, piece);
    return result;
  } finally {
    for (const { file } of open.values()) closeSync(file);
  }
}
