/**
 * Removes unused objects from a bucket.
 *
 * A manifest is needed if it was the newest one at any time since T, where T is the earlier of "an hour ago" and the
 * oldest state that a reader with a valid lease uses. An object is needed if a needed manifest names it. Objects younger
 * than the grace period stay, because an upload comes before the manifest that names it. All times are those of the
 * store.
 */
import type { ObjectInfo, ObjectStore } from '../object-store/object-store.ts';
import type { ManifestLog } from './bucket-manifest.ts';
import { readLeases } from './reader-leases.ts';

export interface CollectLimits {
  /** Longer than an upload and its commit take, and than a reader needs to renew its lease. */
  readonly graceMs: number;
  /** The number of newest manifests that stay in any case. */
  readonly manifestCountMin: number;
}

const COLLECT_LIMITS: CollectLimits = { graceMs: 3_600_000, manifestCountMin: 3 };

export interface CollectSummary {
  readonly manifests: number;
  readonly objects: number;
}

export async function collectBucket(
  dataset: string,
  { store, log, nowUnixMs }: { store: ObjectStore; log: ManifestLog; nowUnixMs: number },
  limits: CollectLimits = COLLECT_LIMITS,
): Promise<CollectSummary> {
  const leases = await readLeases(dataset, { store, nowUnixMs });
  const sinceMs = Math.min(
    nowUnixMs - limits.graceMs,
    ...leases.map(({ sinceUnixMs }) => sinceUnixMs),
  );
  const manifests = await store.list(`${dataset}/manifests/`);
  const firstNeeded = findFirstNeeded(manifests, sinceMs, limits.manifestCountMin);
  const numbers = (await log.listNumbers()).slice(firstNeeded);
  const needed = new Set<string>();
  // Blocks of the feed up to here are in segments, in every state that is needed.
  let sealedSlot = Number.POSITIVE_INFINITY;
  // The oldest manifest that is needed and the newer ones differ in few segments, but each may name one of its own.
  for (const number of numbers) {
    const { chain } = await log.read(number);
    sealedSlot = Math.min(sealedSlot, chain.segments.at(-1)?.last.number ?? -1);
    for (const { id } of chain.segments) needed.add(`${dataset}/segments/${id}`);
  }
  for (const { key } of manifests.slice(0, firstNeeded)) await store.remove(key);
  const isOld = ({ modifiedUnixMs }: ObjectInfo) => modifiedUnixMs < sinceMs;
  const segments = await store.list(`${dataset}/segments/`);
  const unused = segments.filter((one) => !needed.has(one.key) && isOld(one));
  const blocks = await store.list(`${dataset}/blocks/`);
  const passed = blocks.filter((one) => slotOf(one) <= sealedSlot && isOld(one));
  for (const { key } of [...unused, ...passed]) await store.remove(key);
  return { manifests: firstNeeded, objects: unused.length + passed.length };
}

/** Returns the place of the manifest that was the newest one at a time. Later ones are needed too. */
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

/** A block's key begins with its slot. */
function slotOf({ key }: ObjectInfo): number {
  return Number.parseInt(key.slice(key.lastIndexOf('/') + 1), 10);
}
