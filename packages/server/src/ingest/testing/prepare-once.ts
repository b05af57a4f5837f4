import { createHash } from 'node:crypto';
import type { Slot } from '@sluice/ledger/primitives';
import { blockReaders } from '@sluice/source/read-block';
import type { BlockFormat } from '@sluice/source/source';
import { type PreparedBlock, prepareBlock } from '../prepare/prepared-block.ts';

/** More blocks than the tests of one file prepare. */
const knownMax = 1_000;
const known = new Map<string, PreparedBlock>();

/**
 * Prepares a block like the service. Most tests follow the same simulated ledger, and preparing its blocks takes a third of their time, so
 * the result is kept for the next test that loads the same bytes.
 */
export function prepareOnce(slot: Slot, bytes: Uint8Array, format: BlockFormat): PreparedBlock {
  const digest = createHash('sha1').update(bytes).digest('base64');
  const key = `${format} ${slot} ${digest}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const prepared = prepareBlock(blockReaders[format](slot, bytes, {}));
  if (known.size >= knownMax) known.clear();
  known.set(key, prepared);
  return prepared;
}
