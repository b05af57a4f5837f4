/** What happens to a table while it is synchronized, for progress, logs and metrics. */
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
);

export type OnSyncEvent = (event: SyncEvent) => void;
