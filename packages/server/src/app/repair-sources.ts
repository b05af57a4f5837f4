/** Where `sluice repair` gets good copies from: a backup or a bucket, and nodes or archives. */
import { availableParallelism } from 'node:os';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import type { Slot } from '@sluice/ledger/primitives';
import type { SourceOptions } from '@sluice/source/open-source';
import { type ReadList, segmentsFrom } from '../chain/segment-lists.ts';
import type { Bucket } from '../cluster/bucket.ts';
import { DatasetManifest } from '../dataset/dataset-manifest.ts';
import type { RepairSource } from '../dataset/stored/repair-dataset.ts';
import { BlockLoader } from '../ingest/follow/block-loader.ts';
import { FollowedSource } from '../ingest/follow/followed-source.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { splitSegment } from '../segment/write/merge-segments.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { Closers } from './closers.ts';
import { startPreparing } from './start-preparing.ts';

/** Returns the newest state of a bucket as a source. Its segments may have other limits than those of the dataset. */
export async function bucketSource({
  dataset,
  store,
  segments,
  log,
}: Bucket): Promise<RepairSource> {
  const latest = await log.readLatest();
  if (latest === undefined) throw new CodedError('store-manifest-missing', { dataset });
  const { chain } = latest.manifest;
  const readList: ReadList = (list) => segments.readList(list);
  return {
    readFile: (file) => store.get(`${dataset}/${file}`),
    loadBlocks: async (first, last) => {
      const blocks: Uint8Array[] = [];
      for await (const segment of segmentsFrom(chain, first, readList)) {
        if (segment.first.number > last) break;
        const opened = openSegment(await segments.read(segment));
        blocks.push(...splitSegment(opened, (slot) => slot >= first && slot <= last));
      }
      if (blocks.length === 0) throw new CodedError('repair-source-differs', { slot: last });
      return blocks;
    },
  };
}

export interface LedgerSourcesOptions {
  readonly folder: string;
  readonly sources: readonly SourceOptions[];
  readonly seed: number;
}

/** Returns nodes and archives as sources. Their blocks are prepared as the dataset stores them. */
export async function ledgerSources(
  { folder, sources, seed }: LedgerSourcesOptions,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  closers: Closers,
): Promise<RepairSource[]> {
  if (sources.length === 0) return [];
  const description = (await DatasetManifest.open(folder, nodeFs)).describe(false);
  const workerCount = availableParallelism();
  const loader = new BlockLoader(startPreparing(description, { workerCount }, closers));
  return sources.map((options) => {
    const random = Random.fromSeed(seed).fork(options.name);
    const source = new FollowedSource(options, { clock, random });
    closers.add(() => source.remote.close());
    return {
      readFile: async () => {
        throw new CodedError('repair-source-missing');
      },
      loadBlocks: (first, last) => loadRange(source, loader, { first, last }, signal),
    };
  });
}

async function loadRange(
  source: FollowedSource,
  loader: BlockLoader,
  { first, last }: { readonly first: Slot; readonly last: Slot },
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const slots = await source.remote.listSlots({ first, last }, 'finalized', signal);
  // A block that is not finalized yet is not listed.
  const wanted = slots.kind === 'ok' && slots.value.length > 0 ? slots.value : [first];
  const commitment = wanted.length > 1 || first !== last ? 'finalized' : 'confirmed';
  const blocks: Uint8Array[] = [];
  for await (const loaded of loader.loadAll(source, wanted, commitment, signal)) {
    if (loaded.kind === 'refused')
      throw new CodedError('repair-refused', { slot: loaded.slot, reason: loaded.refusal.cause });
    if (loaded.kind === 'damaged') throw loaded.error;
    blocks.push(loaded.prepared.bytes);
  }
  return blocks;
}
