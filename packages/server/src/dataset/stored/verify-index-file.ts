import type { IndexRun } from '../../chain/chain-snapshot.ts';
import { damaged } from '../../segment/encoding/unit.ts';
import { verifyIndex } from '../../segment/history/read-index.ts';
import type { Fs } from '../../storage/fs.ts';

/** Reads the file of an index over segments and verifies all of its checksums. Throws `segment-damaged`, which names the damaged part. */
export async function verifyIndexFile(run: IndexRun, path: string, fs: Fs): Promise<void> {
  const file = await fs.openFile(path, 'read');
  try {
    await verifyIndex(run, (position, length) => file.read(position, length));
    if ((await file.size()) !== run.byteLength) throw damaged('file', 'it has another length');
  } finally {
    await file.close();
  }
}
