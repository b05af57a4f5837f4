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

/**
 * Where the result is in a reply to one call, without parsing it: a block is megabytes, and its parser checks all of
 * it anyway. Only the two layouts that servers write are known; `undefined` for any other, for errors, and where the
 * result is no object.
 *
 *   {"jsonrpc":"2.0","result":{…},"id":7}
 *   {"jsonrpc":"2.0","id":7,"result":{…}}
 */
export function findResult(
  { head, tail, length }: ReplyEnds,
  id: number,
): { readonly start: number; readonly end: number } | undefined {
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

function startsWith(bytes: Uint8Array, start: Buffer): boolean {
  return start.equals(bytes.subarray(0, start.length));
}

function endsWith(bytes: Uint8Array, end: Buffer): boolean {
  return bytes.length >= end.length && end.equals(bytes.subarray(bytes.length - end.length));
}
