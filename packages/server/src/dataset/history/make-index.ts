import { isCodedError } from '@sluice/base/errors';
import { collectKeys } from '../../segment/history/collect-keys.ts';
import { IndexKeys, type OpenIndexBytes, SegmentKeys } from '../../segment/history/read-index.ts';
import { type KeySource, writeIndex } from '../../segment/history/write-index.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import type { openRangeFile, writeFileDurably } from '../../storage/range-file.ts';
import type { IndexFiles, IndexReply } from './index-thread.ts';

export interface MakeIndexDependencies {
  readonly openFile: typeof openRangeFile;
  readonly openIndex: (name: string) => OpenIndexBytes;
  readonly writeFile: typeof writeFileDurably;
}

export function makeIndex(
  { segments, runs, target }: IndexFiles,
  { openFile, openIndex, writeFile }: MakeIndexDependencies,
): IndexReply {
  const open: OpenIndexBytes[] = [];
  try {
    const sources: KeySource[] = segments.map(({ path, first, last }) => {
      const file = openFile(path);
      try {
        return new SegmentKeys({ first, last }, collectKeys(openSegment(file)));
      } finally {
        file.close();
      }
    });
    for (const name of runs) {
      const file = openIndex(name);
      open.push(file);
      sources.push(new IndexKeys(file));
    }
    const shape = writeFile(target, (write) => writeIndex(sources, write));
    return { kind: 'made', shape };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: 'failed', code: error.code, detail: error.detail };
  } finally {
    for (const file of open) file.close();
  }
}
