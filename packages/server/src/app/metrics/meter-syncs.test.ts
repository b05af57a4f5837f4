import { systemClock } from '@sluice/base/clock';
import { expect, test } from 'vitest';
import type { Fs } from '../../storage/fs.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { meterSyncs } from './dataset-metrics.ts';

test('default: the time of each sync of a file or folder is reported, and other calls pass through', async () => {
  let nowMs = 0;
  const inner = new SimFs();
  // A disk on which a sync takes 20 ms.
  const slow: Fs = {
    makeFolder: (path) => inner.makeFolder(path),
    list: (path) => inner.list(path),
    openFile: async (path, mode) => {
      const file = await inner.openFile(path, mode);
      const sync = async () => {
        nowMs += 20;
        await file.sync();
      };
      return {
        size: () => file.size(),
        read: (offset, length) => file.read(offset, length),
        write: (offset, parts) => file.write(offset, parts),
        truncate: (length) => file.truncate(length),
        sync,
        close: () => file.close(),
      };
    },
    rename: (from, to) => inner.rename(from, to),
    remove: (path) => inner.remove(path),
    removeFolder: (path) => inner.removeFolder(path),
    syncFolder: (path) => {
      nowMs += 5;
      return inner.syncFolder(path);
    },
    space: (path) => inner.space(path),
  };
  const seconds: number[] = [];
  const clock = { ...systemClock, nowMs: () => nowMs };
  const fs = meterSyncs(slow, clock, (one) => seconds.push(one));
  await fs.makeFolder('a');
  const file = await fs.openFile('a/b', 'create');
  await file.write(0, [Uint8Array.of(1, 2, 3)]);
  await file.sync();
  expect([await file.size(), await file.read(1, 2)]).toEqual([3, Uint8Array.of(2, 3)]);
  await file.close();
  await fs.syncFolder('a');
  expect(seconds).toEqual([0.02, 0.005]);
  expect(await fs.list('a')).toEqual(['b']);
});
