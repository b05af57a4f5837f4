import { assert } from '@sluice/base/assert';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { Fs } from '../../storage/fs.ts';
import { Journal } from '../../storage/journal.ts';
import { datasetLimits } from '../dataset-limits.ts';
import type { Manifest } from '../manifest.ts';
import { encodeCheckpoint } from '../state-codec.ts';
import { createDataset } from './create-dataset.ts';

/** Creates a dataset whose chain begins with a state that has no hot blocks. Its segments are stored separately. */
export async function restoreDataset(
  folder: string,
  { manifest, chain }: { readonly manifest: Manifest; readonly chain: ChainSnapshot },
  { fs }: { readonly fs: Fs },
): Promise<void> {
  assert(chain.hot.length === 0, 'hot blocks are restored separately');
  const options = { folder: `${folder}/journal`, fileBytesMax: datasetLimits.journalFileBytesMax };
  const { journal } = await Journal.open(options, { fs });
  try {
    await journal.rotate(encodeCheckpoint(chain), new Set(), new Set());
  } finally {
    await journal.close();
  }
  // The manifest is written last, because a dataset with a manifest and without a journal would be taken for a new one.
  await createDataset(folder, manifest, { fs });
}
