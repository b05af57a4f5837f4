import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { ServedDataset } from './served-dataset.ts';

export interface MetadataBody {
  readonly dataset: string;
  readonly aliases: readonly string[];
  readonly real_time: boolean;
  readonly start_block: number;
}

/** `undefined` until it is known where the dataset starts. */
export function buildMetadata(reader: DatasetReader): MetadataBody | undefined {
  const { start } = reader.snapshot();
  if (start === null) return undefined;
  const { name, aliases, realTime } = reader.description;
  return { dataset: name, aliases, real_time: realTime, start_block: start };
}

/** What an operator or a mirror asks: what is stored, how fresh it is, what is wrong. No path, no address, no key. */
export function buildStatus({
  reader,
  dialects,
  ingest,
  ledgerUnixMs,
}: Omit<ServedDataset, 'streams' | 'lookups'>): object {
  const snapshot = reader.snapshot();
  const { name, aliases, realTime, votes, allowMissing, genesisHash } = reader.description;
  const { storage, counters, alarms } = reader.status();
  return {
    dataset: name,
    aliases,
    real_time: realTime,
    dialects,
    votes,
    allow_missing: allowMissing,
    genesis_hash: genesisHash,
    start_block: snapshot.start,
    head: snapshot.head,
    finalized_head: snapshot.finalized,
    block_count: countBlocks(snapshot),
    sealed_bytes: snapshot.segments.reduce((sum, segment) => sum + segment.byteLength, 0),
    head_lag_seconds: lagSeconds(snapshot, ledgerUnixMs()),
    behind_slots: ingest()?.behindSlots ?? null,
    storage,
    sources: ingest()?.sources ?? [],
    backfill: ingest()?.backfill ?? null,
    alarms,
    counters,
  };
}

export function countBlocks(snapshot: ChainSnapshot): number {
  const sealed = snapshot.segments.reduce((sum, segment) => sum + segment.blockCount, 0);
  return sealed + snapshot.hot.length;
}

/** How far the newest block's own time is behind the ledger's. */
export function lagSeconds(snapshot: ChainSnapshot, unixMs: number): number | null {
  const timestamp = snapshot.hot.at(-1)?.header.timestamp ?? null;
  return timestamp === null ? null : Math.round(unixMs / 1000) - Number(timestamp);
}
