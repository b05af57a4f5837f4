import { elementAt } from '@sluice/base/element-at';
import type { Block } from '@sluice/ledger/block';
import type { HotBlock } from '../../chain/chain-snapshot.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { decodeBlocks } from '../../segment/testing/decode-blocks.ts';
import type { DatasetReader } from '../dataset-reader.ts';

/** Returns the records of a hot block, which is stored as a segment of one block. */
export async function decodeHotBlock(
  dataset: Pick<DatasetReader, 'readHotBlock'>,
  block: HotBlock,
): Promise<Block> {
  return elementAt(decodeBlocks(openSegment(await dataset.readHotBlock(block))), 0);
}
