import { isSpace } from '../json/is-space.ts';

/** A reply by its first and last bytes, which may overlap, and its length. */
export interface ReplyEnds {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  readonly length: number;
}

/** Longer than anything that stands before or after a result. */
export const resultMarginBytes = 64;

const resultFirst = Buffer.from('{"jsonrpc":"2.0","result":{');
const closing = Buffer.from('}}');

export interface ResultRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the result is in a reply to one call, without parsing it: a block is megabytes, and its parser checks all of
 * it anyway. Only the two layouts that most servers write are known, and white space after them, which nodes write too;
 * `undefined` for any other, for errors, and where the result is no object.
 *
 *   {"jsonrpc":"2.0","result":{…},"id":7}
 *   {"jsonrpc":"2.0","id":7,"result":{…}}
 */
export function findResult(ends: ReplyEnds, id: number): ResultRange | undefined {
  const { head } = ends;
  const { tail, length } = withoutSpace(ends);
  const idLast = Buffer.from(`},"id":${id}}`);
  if (startsWith(head, resultFirst) && endsWith(tail, idLast)) {
    return { start: resultFirst.length - 1, end: length - idLast.length + 1 };
  }
  const idFirst = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{`);
  if (startsWith(head, idFirst) && endsWith(tail, closing)) {
    return { start: idFirst.length - 1, end: length - 1 };
  }
  return undefined;
}

function withoutSpace({ tail, length }: ReplyEnds): Pick<ReplyEnds, 'tail' | 'length'> {
  let end = tail.length;
  while (end > 0 && isSpace(tail[end - 1] as number)) end--;
  return { tail: tail.subarray(0, end), length: length - (tail.length - end) };
}

function startsWith(bytes: Uint8Array, start: Buffer): boolean {
  return start.equals(bytes.subarray(0, start.length));
}

function endsWith(bytes: Uint8Array, end: Buffer): boolean {
  return bytes.length >= end.length && end.equals(bytes.subarray(bytes.length - end.length));
}
