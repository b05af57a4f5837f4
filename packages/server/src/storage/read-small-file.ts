import { closeSync, openSync, readSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';

/**
 * Reads a small file, such as a configuration. Throws `cli-file-too-large` without reading further if the file is
 * longer than `bytesMax` or endless, as a device can be.
 */
export function readSmallFile(path: string, bytesMax: number): Buffer {
  const bytes = Buffer.alloc(bytesMax + 1);
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (;;) {
      const count = readSync(file, bytes, length, bytes.length - length, null);
      length += count;
      if (length > bytesMax) throw new CodedError('cli-file-too-large', { path, bytesMax });
      if (count === 0) return bytes.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}
