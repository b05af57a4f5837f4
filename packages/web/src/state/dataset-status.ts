import type { BlockRef, Status } from '@sluice/client';

export interface SourceRow {
  readonly name: string;
  readonly state: 'starting' | 'live' | 'waiting' | 'quarantined' | 'disabled';
  readonly fault: string | null;
  readonly failures: number;
  readonly kind: string;
  readonly slotsBehind: number | null;
  readonly activity: string | null;
}

export interface AlarmRow {
  readonly code: string;
  readonly message: string;
  readonly sinceUnixMs: number;
}

/** The part of `GET /datasets/{name}/status` that the application shows. */
export interface DatasetStatus extends Status {
  readonly head: BlockRef | null;
  readonly finalized_head: BlockRef | null;
  readonly dialects: readonly string[];
  readonly votes: 'keep' | 'drop';
  readonly sealed_bytes: number;
  readonly behind_slots: number | null;
  readonly storage: { readonly kind: string; readonly freeBytes?: number };
  readonly sources: readonly SourceRow[];
  readonly backfill: {
    readonly to: number;
    readonly slot: number | null;
    readonly blocks_per_second: number;
    readonly seconds_left: number | null;
  } | null;
  readonly alarms: readonly AlarmRow[];
}
