/** Reads a dataset from its files without opening it, for tools. A process may be writing it at the same time. */
import { type ChainSnapshot, emptySnapshot, type HotBlock } from '../../chain/chain-snapshot.ts';
import { totalSealed } from '../../chain/segment-lists.ts';
import type { Fs } from '../../storage/fs.ts';
import { readJournal, readStoredPayload } from '../../storage/read-journal.ts';
import { replayJournal } from '../chain-writer.ts';
import { checkJournalExists } from '../dataset-files.ts';
import { type Manifest, readManifest } from '../manifest.ts';

export interface StoredDataset {
  readonly manifest: Manifest;
  readonly snapshot: ChainSnapshot;
  readonly blockCount: number;
  /** The total size of the segments and the journal. */
  readonly byteLength: number;
  /** The bytes at the end of the journal that are no complete record: a write in progress or cut off, or damage. */
  readonly incompleteBytes: number;
  /** Returns the bytes of a hot block after verifying their checksum. */
  readHotBlock(block: HotBlock): Promise<Uint8Array>;
}

export async function readStoredDataset(folder: string, fs: Fs): Promise<StoredDataset> {
  const manifest = await readManifest(fs, folder);
  await checkJournalExists(folder, fs);
  const journal = await readJournal(`${folder}/journal`, fs);
  const snapshot = journal === undefined ? emptySnapshot : replayJournal(journal);
  const sealed = totalSealed(snapshot);
  const locationOf = ({ payload }: HotBlock) => journal?.locations.get(payload);
  return {
    manifest,
    snapshot,
    blockCount: sealed.blockCount + snapshot.hot.length,
    byteLength: sealed.byteLength + (journal?.byteLength ?? 0),
    incompleteBytes: journal?.truncatedBytes ?? 0,
    readHotBlock: (block) => readStoredPayload(`${folder}/journal`, locationOf(block), fs),
  };
}
