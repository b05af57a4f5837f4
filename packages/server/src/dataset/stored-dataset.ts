/** A dataset as its files are: for tools that only read, also beside the process that writes it. */
import { type ChainSnapshot, emptySnapshot, type HotBlock } from '../chain/chain-snapshot.ts';
import type { Fs } from '../storage/fs.ts';
import { readJournal, readStoredPayload } from '../storage/read-journal.ts';
import { replayJournal } from './chain-writer.ts';
import { refuseLostJournal } from './dataset-files.ts';
import { type Manifest, readManifest } from './manifest.ts';

export interface StoredDataset {
  readonly manifest: Manifest;
  readonly snapshot: ChainSnapshot;
  readonly blockCount: number;
  /** What the segments and the journal take on disk. */
  readonly byteLength: number;
  /** The bytes of a hot block's one-block segment, checked. */
  readHotBlock(block: HotBlock): Promise<Uint8Array>;
}

export async function readStoredDataset(folder: string, fs: Fs): Promise<StoredDataset> {
  const manifest = await readManifest(fs, folder);
  await refuseLostJournal(folder, fs);
  const journal = await readJournal(`${folder}/journal`, fs);
  const snapshot = journal === undefined ? emptySnapshot : replayJournal(journal);
  const { segments, hot } = snapshot;
  const placeOf = ({ payload }: HotBlock) => journal?.places.get(payload);
  const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
  return {
    manifest,
    snapshot,
    blockCount: sum(segments.map(({ blockCount }) => blockCount)) + hot.length,
    byteLength: sum(segments.map(({ byteLength }) => byteLength)) + (journal?.byteLength ?? 0),
    readHotBlock: (block) => readStoredPayload(`${folder}/journal`, placeOf(block), fs),
  };
}
