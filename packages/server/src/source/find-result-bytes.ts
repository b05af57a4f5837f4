const resultFirst = Buffer.from('{"jsonrpc":"2.0","result":{');

/**
 * The bytes of the result in a reply to one call, without parsing it: a block is megabytes, and its parser checks all of
 * it anyway. Only the two layouts that servers write are known; `undefined` for any other, for errors, and where the
 * result is no object.
 *
 *   {"jsonrpc":"2.0","result":{…},"id":7}
 *   {"jsonrpc":"2.0","id":7,"result":{…}}
 */
export function findResultBytes(reply: Uint8Array, id: number): Uint8Array | undefined {
  const buffer = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const idLast = Buffer.from(`},"id":${id}}`);
  if (startsWith(buffer, resultFirst) && endsWith(buffer, idLast)) {
    return reply.subarray(resultFirst.length - 1, reply.length - idLast.length + 1);
  }
  const idFirst = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{`);
  if (startsWith(buffer, idFirst) && endsWith(buffer, closing)) {
    return reply.subarray(idFirst.length - 1, reply.length - 1);
  }
  return undefined;
}

const closing = Buffer.from('}}');

function startsWith(buffer: Buffer, start: Buffer): boolean {
  return buffer.subarray(0, start.length).equals(start);
}

function endsWith(buffer: Buffer, end: Buffer): boolean {
  return buffer.length >= end.length && buffer.subarray(buffer.length - end.length).equals(end);
}
