/** What happens to a table while it is synchronized, for progress, logs and metrics. */
import { messageOf } from '@sluice/protocol/unknown-value';

export type SyncEvent = { readonly table: string } & (
  | { readonly kind: 'load-start'; readonly first: number; readonly last: number }
  /** `slots` more of the history are stored. */
  | { readonly kind: 'load'; readonly slots: number; readonly rows: number }
  /** The load is stored, and a target that has indexes creates them. */
  | { readonly kind: 'index' }
  | { readonly kind: 'follow'; readonly slot: number | undefined }
  | { readonly kind: 'fill'; readonly columns: readonly string[]; readonly last: number }
  | { readonly kind: 'filled'; readonly columns: readonly string[] }
  | {
      readonly kind: 'commit';
      readonly slot: number;
      readonly unixSeconds: number | null;
      readonly rows: number;
      readonly rollbackTo: number | undefined;
    }
  | { readonly kind: 'retry'; readonly error: unknown; readonly waitMs: number }
  /** The last slot that was asked for is stored. */
  | { readonly kind: 'end'; readonly slot: number }
);

export type OnSyncEvent = (event: SyncEvent) => void;

/** Returns what an operator should know about an event, to be written after the name of the table. */
export function describeSyncEvent(event: SyncEvent): string | undefined {
  switch (event.kind) {
    case 'load-start':
      return `loads slots ${event.first} to ${event.last}`;
    case 'index':
      return 'is loaded, creating its indexes';
    case 'follow':
      return `follows the ledger from ${event.slot === undefined ? 'the start' : `slot ${event.slot}`}`;
    case 'fill':
      return `fills the new columns ${event.columns.join(', ')} up to slot ${event.last}`;
    case 'filled':
      return `has filled the columns ${event.columns.join(', ')}`;
    case 'retry':
      return `${messageOf(event.error)}; trying again in ${Math.ceil(event.waitMs / 1000)} s`;
    case 'end':
      return `is stored up to slot ${event.slot}`;
    case 'commit':
      return event.rollbackTo === undefined
        ? undefined
        : `fork: the rows above slot ${event.rollbackTo} were replaced`;
    default:
      return undefined;
  }
}
