import { totalSealed } from '../chain/segment-lists.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';

/** Returns the number of sealed blocks of a bucket, 0 if it has no manifest. */
export async function countBlocks(bucket: Bucket): Promise<number> {
  const latest = await bucket.log.readLatest();
  return latest === undefined ? 0 : totalSealed(sealedPart(latest.manifest.chain)).blockCount;
}
