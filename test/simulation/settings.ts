/** The configuration of a simulated service. Small limits make rare things frequent. */
import type { Random } from '@sluice/base/random';
import { toSlot } from '../../packages/ledger/src/primitives.ts';
import type { Retention } from '../../packages/server/src/dataset/retention.ts';
import type { ServiceSettings } from './service.ts';

export interface WorldSettings {
  readonly settings: ServiceSettings;
  readonly sourceCount: number;
  /** The number of blocks that the ledger has at the beginning. */
  readonly firstBlockCount: number;
}

export function chooseSettings(random: Random): WorldSettings {
  // Lists of segments exist only in a dataset with hundreds of segments.
  const isLong = random.chance(0.1);
  const isBackfilled = random.chance(0.25);
  const retention: Retention =
    isBackfilled || random.chance(0.4)
      ? { kind: 'all' }
      : { kind: 'blocks', count: isLong ? 600 : random.between(20, 120) };
  const settings: ServiceSettings = {
    limits: {
      journalFileBytesMax: random.pick([8_192, 32_768, 131_072]),
      groupBytesMax: 65_536,
      payloadCacheBytesMax: random.pick([1_024, 8_192, 1 << 20]),
      blockCacheBytesMax: 65_536,
      headerCacheBytesMax: 16_384,
      diskFloorBytes: 1_000_000,
      sealBlockCount: isLong ? 1 : random.between(2, 12),
      mergeBytes: isLong ? 1 : random.pick([4_096, 16_384, 65_536]),
      mergeCount: random.between(2, 4),
    },
    retention,
    start: isBackfilled ? { kind: 'latest' } : { kind: 'genesis' },
    backfillTo: isBackfilled ? toSlot(random.pick([0, 5])) : undefined,
  };
  const firstBlockCount = isLong ? 900 : random.between(10, 80);
  return { settings, sourceCount: random.pick([1, 2, 3, 3]), firstBlockCount };
}
