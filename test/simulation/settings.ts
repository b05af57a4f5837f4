/** The configuration of a simulated service. Small limits make rare things frequent. */
import type { Random } from '@sluice/base/random';
import { toSlot } from '../../packages/ledger/src/primitives.ts';
import type { Retention } from '../../packages/server/src/dataset/retention.ts';
import type { ServiceSettings } from './service.ts';

export interface WorldSettings {
  /** The settings of the service on each machine. */
  readonly machines: readonly ServiceSettings[];
  readonly sourceCount: number;
  /** The number of blocks that the ledger has at the beginning. */
  readonly firstBlockCount: number;
}

export type StorageKind = ServiceSettings['storage'];

/** Chooses the storage too, unless it is given. */
export function chooseSettings(random: Random, only?: StorageKind): WorldSettings {
  // Lists of segments exist only in a dataset with hundreds of segments.
  const isLong = random.chance(0.1);
  const isBackfilled = random.chance(0.25);
  const retention: Retention =
    isBackfilled || random.chance(0.4)
      ? { kind: 'all' }
      : { kind: 'blocks', count: isLong ? 600 : random.between(20, 120) };
  const chosen = random.pick(storageChoices);
  const storage = only ?? chosen;
  const settings: ServiceSettings = {
    storage,
    isReader: false,
    cacheBytesMax: random.pick([1 << 16, 1 << 18, 1 << 22]),
    // A commit that takes a list apart describes all of its segments, and must fit into one message.
    messageBytesMax: Math.max(random.pick([8_192, 65_536]), isLong ? 65_536 : 0),
    limits: {
      journalFileBytesMax: random.pick([8_192, 32_768, 131_072]),
      groupBytesMax: 65_536,
      payloadCacheBytesMax: random.pick([1_024, 8_192, 1 << 20]),
      headerCacheBytesMax: 16_384,
      diskFloorBytes: 1_000_000,
      sealBlockCount: isLong ? 1 : random.between(2, 12),
      mergeBytes: isLong ? 1 : random.pick([4_096, 16_384, 65_536]),
      mergeCount: random.between(2, 4),
      longMergeBytes: isLong ? 20_000 : 1 << 30,
    },
    retention,
    start: isBackfilled ? { kind: 'latest' } : { kind: 'genesis' },
    backfillTo: isBackfilled ? toSlot(random.pick([0, 5])) : undefined,
  };
  const firstBlockCount = isLong ? 900 : random.between(10, 80);
  const machines = [settings];
  if (storage === 'cluster') machines.push({ ...settings, isReader: random.chance(0.3) });
  return { machines, sourceCount: random.pick([1, 2, 3, 3]), firstBlockCount };
}

/** A cluster has two machines, and takes twice as long. */
export const storageChoices = [
  'folder',
  'folder',
  'bucket',
  'cluster',
] as const satisfies readonly StorageKind[];
