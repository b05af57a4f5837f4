/** The file `store.json` in the folder of a dataset whose segments are in an object store. */
import { isCodedError } from '@sluice/base/errors';
import { type Fs, readWholeFile, writeFileAtomically } from '../storage/fs.ts';

export interface FolderOwner {
  /**
   * `folder`: the folder has the journal, and `writer` is its name in the manifests of the bucket. `replica`: the folder is a copy of the
   * feed and is recreated at every start.
   */
  readonly kind: 'folder' | 'replica';
  readonly writer: string;
}

const fileName = 'store.json';

export async function readFolderOwner(folder: string, fs: Fs): Promise<FolderOwner | undefined> {
  try {
    const bytes = await readWholeFile(fs, `${folder}/${fileName}`);
    return JSON.parse(new TextDecoder().decode(bytes)) as FolderOwner;
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return undefined;
    throw error;
  }
}

export async function writeFolderOwner(folder: string, owner: FolderOwner, fs: Fs): Promise<void> {
  const text = `${JSON.stringify(owner)}\n`;
  await writeFileAtomically(fs, folder, fileName, [new TextEncoder().encode(text)]);
}
