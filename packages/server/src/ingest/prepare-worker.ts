/** A thread that turns raw blocks into stored ones: what comes back is bytes that are moved, not copied. */
import { serveNormalizer } from '../source/serve-normalizer.ts';
import { prepareBlock } from './prepared-block.ts';

serveNormalizer((normalized) => {
  const value = prepareBlock(normalized);
  return { value, transfer: [value.bytes.buffer as ArrayBuffer] };
});
