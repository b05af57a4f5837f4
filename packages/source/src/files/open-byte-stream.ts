import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** The path that stands for standard input. */
export const standardInput = '-';

/** Blocks have megabytes. Smaller pieces would cost more time than they save memory. */
const readBytes = 1024 * 1024;

/** Opens a file, a pipe or a device for reading. */
export async function openByteStream(path: string): Promise<Readable> {
  if (path === standardInput) return process.stdin;
  if ((await stat(path)).isFIFO()) return openFifo(path);
  return createReadStream(path, { highWaterMark: readBytes });
}

/**
 * Opens a FIFO as a socket. Opened as a file it would block a thread, and with it the end of the process, until a writer opens the
 * FIFO. A socket can be destroyed while it waits.
 */
function openFifo(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
