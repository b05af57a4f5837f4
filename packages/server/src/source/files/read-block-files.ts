import { isCodedError } from '@sluice/base/errors';
import { normalizeDefaults } from '../normalize/normalize-options.ts';
import {
  type BlockLine,
  checkCompressed,
  type ReadLinesOptions,
  readBlockLines,
} from './read-block-lines.ts';

/** A line contains a block and its slot. */
const lineBytesMax = normalizeDefaults.bytesMax + 256;

export interface ReadFilesOptions extends Pick<ReadLinesOptions, 'onRead' | 'memory'> {
  /** Whether the caller discards all blocks if a file is damaged. Otherwise compressed files are checked first. */
  readonly isAllOrNothing?: boolean;
}

/** Reads the blocks of several files, one after another, until the files end or the signal aborts. */
export async function* readBlockFiles(
  paths: readonly string[],
  { isAllOrNothing = false, ...options }: ReadFilesOptions,
  signal: AbortSignal,
): AsyncGenerator<BlockLine> {
  for (const path of paths) {
    try {
      if (!isAllOrNothing) await checkCompressed(path, signal);
      for await (const line of readBlockLines(path, { ...options, lineBytesMax, signal })) {
        if (signal.aborted) return;
        yield line;
      }
    } catch (error) {
      // Reading a pipe fails when the signal aborts.
      if (signal.aborted && isCodedError(error)) return;
      throw error;
    }
  }
}
