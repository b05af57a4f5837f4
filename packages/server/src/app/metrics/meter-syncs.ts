import type { Clock } from '@sluice/base/clock';
import type { Fs, FsFile } from '../../storage/fs.ts';

/** Returns a file system that reports how long each sync of a file or folder took, in seconds. */
export function meterSyncs(fs: Fs, clock: Clock, observe: (seconds: number) => void): Fs {
  const timed = async (sync: () => Promise<void>) => {
    const startMs = clock.nowMs();
    await sync();
    observe((clock.nowMs() - startMs) / 1000);
  };
  const meterFile = (file: FsFile): FsFile => ({
    size: () => file.size(),
    read: (offset, length) => file.read(offset, length),
    write: (offset, parts) => file.write(offset, parts),
    truncate: (length) => file.truncate(length),
    sync: () => timed(() => file.sync()),
    close: () => file.close(),
  });
  return {
    makeFolder: (path) => fs.makeFolder(path),
    list: (path) => fs.list(path),
    openFile: async (path, mode) => meterFile(await fs.openFile(path, mode)),
    rename: (from, to) => fs.rename(from, to),
    remove: (path) => fs.remove(path),
    removeFolder: (path) => fs.removeFolder(path),
    syncFolder: (path) => timed(() => fs.syncFolder(path)),
    space: (path) => fs.space(path),
  };
}
