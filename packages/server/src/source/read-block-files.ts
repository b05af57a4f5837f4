import { normalizeDefaults } from './normalize-options.ts';
import { type BlockLine, type ReadLinesOptions, readBlockLines } from './read-block-lines.ts';

/** The key and the slot stand before the block. */
const lineBytesMax = normalizeDefaults.bytesMax + 256;

/** The blocks of several files, one after another, until they end or the signal aborts. */
export async function* readBlockFiles(
  paths: readonly string[],
  options: Pick<ReadLinesOptions, 'onRead'>,
  signal: AbortSignal,
): AsyncGenerator<BlockLine> {
  for (const path of paths) {
    for await (const line of readBlockLines(path, { ...options, lineBytesMax })) {
      if (signal.aborted) return;
      yield line;
    }
  }
}
