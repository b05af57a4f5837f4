import { isSpace } from '../json/is-space.ts';

/** The first and the last bytes of a reply, which may overlap, and its length. */
export interface ReplyEnds {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  readonly length: number;
}

/** Longer than the text before and after a result. */
export const resultMarginBytes = 64;

const resultFirst = Buffer.from('{"jsonrpc":"2.0","result":{');
const closing = Buffer.from('}}');

export interface ResultRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the position of the result in a reply without parsing the reply. A block has megabytes, and its parser checks all of it
 * anyway. Knows only the two layouts that most servers write, with optional white space at the end. Returns `undefined` for
 * other layouts, for errors, and if the result is not an object.
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
