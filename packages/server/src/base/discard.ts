import { MessageChannel } from 'node:worker_threads';

/** Below this there is little to give back, and what is shorter may lie in a pool with others. */
const bytesMin = 1 << 14;

/** A port that leads nowhere: what is moved to it is freed at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Gives the memory of a buffer back now. The runtime would find out some time later, and looks the sooner for what nobody reads
 * the more such memory there is: blocks that pass through a thread made it collect every second. Whoever calls this is the last
 * to read the buffer. What is shared, or a part of a buffer, stays as it is.
 */
export function discard({ buffer, byteLength }: ArrayBufferView): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole && byteLength >= bytesMin) nowhere.postMessage(null, [buffer]);
}
