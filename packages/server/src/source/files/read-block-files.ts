import { isCodedError } from '../../base/errors.ts';
import { normalizeDefaults } from '../normalize/normalize-options.ts';
import {
  type BlockLine,
  checkCompressed,
  type ReadLinesOptions,
  readBlockLines,
} from './read-block-lines.ts';

/** The key and the slot stand before the block. */
const lineBytesMax = normalizeDefaults.bytesMax + 256;

export interface ReadFilesOptions extends Pick<ReadLinesOptions, 'onRead' | 'memory'> {
  /** Whether blocks count only if all of them come, so that a damaged file does no harm. Else it is looked at first. */
  readonly isAllOrNothing?: boolean;
}

/** The blocks of several files, one after another, until they end or the signal aborts. */
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
      // A pipe that nothing came through is left in the midst of a line.
      if (signal.aborted && isCodedError(error)) return;
      throw error;
    }
  }
}
