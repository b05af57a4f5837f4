/**
 * Leases of readers in the bucket: `<dataset>/leases/<reader>`. Each has the age of the oldest state that the reader still uses, so that
 * the segments of that state are not removed. A lease that is not renewed expires.
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { ObjectStore } from '../object-store/object-store.ts';

/** A reader that does not renew its lease for this long has died, or cannot reach the bucket and so cannot read from it. */
const leaseMsMax = 15 * 60_000;
const renewEveryMs = 5 * 60_000;

export interface ReaderLease {
  readonly reader: string;
  readonly sinceUnixMs: number;
}

export async function readLeases(
  dataset: string,
  { store, nowUnixMs }: { readonly store: ObjectStore; readonly nowUnixMs: number },
): Promise<ReaderLease[]> {
  const leases: ReaderLease[] = [];
  for (const { key, modifiedUnixMs } of await store.list(`${dataset}/leases/`)) {
    if (nowUnixMs - modifiedUnixMs > leaseMsMax) {
      await store.remove(key);
      continue;
    }
    const ageMs = parseAge(new TextDecoder().decode(await store.get(key)));
    // The age is measured by the reader and the time by the store, so the two clocks are never compared.
    leases.push({ reader: key, sinceUnixMs: modifiedUnixMs - ageMs });
  }
  return leases;
}

/** A lease that cannot be parsed protects everything until it is renewed or expires. */
function parseAge(text: string): number {
  try {
    const { ageMs } = JSON.parse(text) as { ageMs: unknown };
    return typeof ageMs === 'number' ? ageMs : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Renews the lease of a reader until the signal aborts, then removes it. */
export async function keepLease(
  { dataset, reader }: { readonly dataset: string; readonly reader: string },
  dependencies: {
    readonly store: ObjectStore;
    readonly clock: Clock;
    /** Returns how long the oldest state in use has been in use. */
    readonly oldestAgeMs: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, oldestAgeMs } = dependencies;
  const key = `${dataset}/leases/${reader}`;
  const renew = async () => {
    const text = JSON.stringify({ ageMs: oldestAgeMs() });
    await store.put(key, new TextEncoder().encode(text));
  };
  const ignoreFault = (error: unknown) => {
    if (!isCodedError(error)) throw error;
  };
  while (!signal.aborted) {
    await renew().catch(ignoreFault);
    await clock.sleep(renewEveryMs, signal);
  }
  await store.remove(key).catch(ignoreFault);
}
