/**
 * Removes unused objects from a bucket.
 *
 * A manifest is needed if it was the newest one at any time since T, where T is the earlier of "an hour ago" and the
 * oldest state that a reader with a valid lease uses. The chain of each manifest names the files that it does not need,
 * including those that were about to be written. A file is removed if no needed manifest needs it. All times are those
 * of the store.
 *
 * Another collector may run at the same time, because a writer that was replaced notices that late. So everything is
 * decided by one listing of the manifests, and nothing is removed long after it: an object that was unused then could
 * be uploaded and used again.
 */
import type { Clock } from '@sluice/base/clock';
import type { ObjectInfo, ObjectStore } from '../object-store/object-store.ts';
import type { ManifestLog } from './bucket-manifest.ts';
import { readLeases } from './reader-leases.ts';

export interface CollectLimits {
  /** Longer than an upload and its commit take, and than a reader needs to renew its lease. */
  readonly graceMs: number;
  readonly manifestCountMin: number;
  /** The time from the listing to the last removal. It is much shorter than the grace period. */
  readonly collectMsMax: number;
}

export const COLLECT_LIMITS: CollectLimits = {
  graceMs: 3_600_000,
  manifestCountMin: 3,
  collectMsMax: 600_000,
};

export interface CollectSummary {
  /** The unused files of the chain that were removed. The caller commits that they can be forgotten. */
  readonly files: readonly string[];
  readonly manifests: number;
  readonly objects: number;
}

export interface CollectDependencies {
  readonly store: ObjectStore;
  readonly log: ManifestLog;
  readonly clock: Clock;
  /** The time by the clock of the store. */
  readonly nowUnixMs: number;
  /** The unused files of the writer's newest state, which its newest manifest may not have yet. Files that are being written are not among them. */
  readonly unusedFiles: readonly string[];
}

export async function collectBucket(
  dataset: string,
  dependencies: CollectDependencies,
  limits: CollectLimits = COLLECT_LIMITS,
): Promise<CollectSummary> {
  const { store, log, clock, nowUnixMs } = dependencies;
  const deadlineMs = clock.nowMs() + limits.collectMsMax;
  const leases = await readLeases(dataset, { store, nowUnixMs });
  const sinceMs = Math.min(
    nowUnixMs - limits.graceMs,
    ...leases.map(({ sinceUnixMs }) => sinceUnixMs),
  );
  const manifests = await store.list(`${dataset}/manifests/`);
  // Without a manifest, the objects belong to a dataset that is being pushed for the first time.
  if (manifests.length === 0) return { files: [], manifests: 0, objects: 0 };
  const firstNeeded = findFirstNeeded(manifests, sinceMs, limits.manifestCountMin);
  // In every needed state, the blocks of the feed up to this slot are in segments.
  let sealedSlot = Number.POSITIVE_INFINITY;
  let unused = dependencies.unusedFiles;
  for (const { key } of manifests.slice(firstNeeded)) {
    const { chain } = await log.read(log.numberOf(key));
    sealedSlot = Math.min(sealedSlot, chain.segments.at(-1)?.last.number ?? -1);
    const now = new Set(chain.unused);
    unused = unused.filter((file) => now.has(file));
  }
  const blocks = (await store.list(`${dataset}/blocks/`)).filter(
    (object) => object.modifiedUnixMs < sinceMs && slotOf(object) <= sealedSlot,
  );
  const removeUntilLate = async (keys: readonly string[]) => {
    for (const [i, key] of keys.entries()) {
      if (clock.nowMs() >= deadlineMs) return i;
      await store.remove(key);
    }
    return keys.length;
  };
  const keyOf = ({ key }: ObjectInfo) => key;
  let removedCount = 0;
  for (const file of unused) {
    const keys = await keysOf(store, `${dataset}/${file}`);
    if ((await removeUntilLate(keys)) < keys.length) break;
    removedCount++;
  }
  return {
    files: unused.slice(0, removedCount),
    manifests: await removeUntilLate(manifests.slice(0, firstNeeded).map(keyOf)),
    objects: removedCount + (await removeUntilLate(blocks.map(keyOf))),
  };
}

/** Returns the objects of a file. An index over segments is stored in pieces, whose names have its name and a number. */
async function keysOf(store: ObjectStore, key: string): Promise<readonly string[]> {
  if (!key.endsWith('.index')) return [key];
  return (await store.list(`${key}.`)).map((object) => object.key);
}

/** Returns the index of the manifest that was the newest one at a time. Later manifests are needed too. */
function findFirstNeeded(
  manifests: readonly ObjectInfo[],
  sinceMs: number,
  countMin: number,
): number {
  let first = 0;
  manifests.forEach(({ modifiedUnixMs }, i) => {
    if (modifiedUnixMs <= sinceMs) first = i;
  });
  return Math.max(0, Math.min(first, manifests.length - countMin));
}

/** The key of a block starts with its slot. */
function slotOf({ key }: ObjectInfo): number {
  return Number.parseInt(key.slice(key.lastIndexOf('/') + 1), 10);
}
