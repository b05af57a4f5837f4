import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** Instead of a file's path: what is piped into the command. */
export const standardInput = '-';

/** A block has megabytes: smaller pieces cost more turns of the loop than they save memory. */
const readBytes = 1024 * 1024;

/** The bytes of a file, a pipe or a device, opened once. */
export async function openByteStream(path: string): Promise<Readable> {
  if (path === standardInput) return process.stdin;
  if ((await stat(path)).isFIFO()) return openFifo(path);
  return createReadStream(path, { highWaterMark: readBytes });
}

/**
 * Opened as a file, a FIFO would hold a thread until somebody writes to it, and the end of the process with it. This opens at
 * once and waits as a socket does, which can be destroyed.
 */
function openFifo(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
