import { ObjectCache, type ObjectCacheDependencies } from '../object-store/object-cache.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import { ManifestLog } from './bucket-manifest.ts';
import { BucketSegments } from './bucket-segments.ts';

export interface BucketOptions {
  readonly dataset: string;
  readonly cacheFolder: string;
  readonly cacheBytesMax: number;
  readonly requestCountMax: number;
}

/** The part of an object store that belongs to one dataset, and the cache for its objects. */
export interface Bucket {
  readonly dataset: string;
  readonly store: ObjectStore;
  readonly cache: ObjectCache;
  readonly segments: BucketSegments;
  readonly log: ManifestLog;
}

export async function openBucket(
  { dataset, cacheFolder, cacheBytesMax, requestCountMax }: BucketOptions,
  { store, clock, fs }: ObjectCacheDependencies,
): Promise<Bucket> {
  const limits = { folder: cacheFolder, bytesMax: cacheBytesMax, requestCountMax };
  const cache = await ObjectCache.open(limits, { store, clock, fs });
  const workFolder = `${cacheFolder}-work`;
  // A process that was killed may have left files.
  await fs.removeFolder(workFolder);
  const segments = new BucketSegments({ dataset, workFolder }, { store, cache, fs });
  return { dataset, store, cache, segments, log: new ManifestLog(store, dataset) };
}
