import { MessageChannel } from 'node:worker_threads';

/**
 * Smaller buffers are left to the garbage collector: they free little memory, and Node allocates small buffers from a
 * shared pool.
 */
const bytesMin = 1 << 14;

/** A closed message port. A buffer that is transferred to it is freed at once. */
const { port1: closedPort } = new MessageChannel();
closedPort.close();

/**
 * Frees the memory of a buffer immediately, instead of at the next garbage collection. V8 collects more often the more
 * buffer memory is allocated: without this, the blocks that pass through a thread caused a collection every second. The
 * caller must be the last reader of the buffer. Shared buffers and views of a part of a buffer are left unchanged.
 */
export function discard({ buffer, byteLength }: ArrayBufferView): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole && byteLength >= bytesMin) closedPort.postMessage(null, [buffer]);
}
