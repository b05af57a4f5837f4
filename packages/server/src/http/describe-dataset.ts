import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { totalSealed } from '../chain/segment-lists.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { ServedDataset } from './served-dataset.ts';

export interface MetadataBody {
  readonly dataset: string;
  readonly aliases: readonly string[];
  readonly real_time: boolean;
  readonly start_block: number;
}

/** Returns the metadata, or `undefined` while the first slot of the dataset is unknown. */
export function buildMetadata(reader: DatasetReader): MetadataBody | undefined {
  const { start } = reader.snapshot();
  if (start === null) return undefined;
  const { name, aliases, realTime } = reader.description;
  return { dataset: name, aliases, real_time: realTime, start_block: start };
}

/** Returns the state of a dataset for operators and mirrors. Contains no paths, source addresses or keys. */
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
    sealed_bytes: totalSealed(snapshot).byteLength,
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
  const sealed = totalSealed(snapshot).blockCount;
  return sealed + snapshot.hot.length;
}

/** Returns how many seconds the timestamp of the newest block is behind the time of the ledger. */
export function lagSeconds(snapshot: ChainSnapshot, unixMs: number): number | null {
  const timestamp = snapshot.hot.at(-1)?.header.timestamp ?? null;
  return timestamp === null ? null : Math.round(unixMs / 1000) - Number(timestamp);
}
