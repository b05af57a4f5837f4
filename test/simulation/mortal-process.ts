/** A process on a simulated machine that ends at a chosen operation: from then on, nothing that it awaits ever completes. */
import type { MakeIndex } from '../../packages/server/src/dataset/history/index-thread.ts';
import type { ObjectStore } from '../../packages/server/src/object-store/object-store.ts';
import type { MemoryStore } from '../../packages/server/src/object-store/testing/memory-store.ts';
import { type Fs, type FsFile, writeFileAtomically } from '../../packages/server/src/storage/fs.ts';
import { type SimFs, SimKilled } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { makeIndexInTurn } from './make-index.ts';

export interface MortalProcess {
  readonly fs: Fs;
  readonly store: ObjectStore;
  readonly makeIndex: MakeIndex;
  /** Resolves when the process is killed. */
  readonly killed: Promise<void>;
  /** How many operations of each kind have changed the disk or the object store: writes, syncs, renames, removals, uploads. */
  readonly counts: ReadonlyMap<string, number>;
}

/** The kinds of operations at which a process is killed. A write that is killed leaves half of its bytes. */
const changing = new Set(['write', 'sync', 'truncate', 'rename', 'remove', 'syncFolder', 'put']);

/** Starts a simulated process that is killed just before its operation number `killAt`. The first operation has the number 1. */
export function startProcess(
  { disk, store }: { readonly disk: SimFs; readonly store: MemoryStore },
  killAt: number,
  onOperation: () => void = () => undefined,
): MortalProcess {
  const counts = new Map<string, number>();
  let end = () => {};
  const killed = new Promise<void>((resolve) => {
    end = resolve;
  });
  const never = new Promise<never>(() => undefined);
  let [count, isOver, lastIndex] = [0, false, -1];
  const isFatal = (kind: string) => {
    if (!changing.has(kind)) return false;
    onOperation();
    count++;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return count === killAt;
  };
  const kill = () => {
    isOver = true;
    end();
  };
  // The disk calls this function twice for a write: before and after its effect.
  let fate: 'kill' | undefined;
  disk.fault = ({ name, index }) => {
    if (index !== lastIndex) fate = isFatal(name) ? 'kill' : undefined;
    lastIndex = index;
    return fate;
  };
  store.before = (operation) => {
    if (isOver) return never;
    const isChange = operation === 'put' || operation === 'create' || operation === 'remove';
    if (!isChange || !isFatal(operation === 'remove' ? 'remove' : 'put')) return undefined;
    kill();
    return never;
  };
  const guard = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (isOver) return never;
    try {
      const result = await work();
      return isOver ? never : result;
    } catch (error) {
      if (!(error instanceof SimKilled)) throw error;
      kill();
      return never;
    }
  };
  const fs = guardFs(disk, guard);
  return { fs, store, makeIndex: indexMaker(disk, fs), killed, counts };
}

type Guard = <Result>(work: () => Promise<Result>) => Promise<Result>;

function guardFs(disk: SimFs, guard: Guard): Fs {
  return {
    makeFolder: (path) => guard(() => disk.makeFolder(path)),
    list: (path) => guard(() => disk.list(path)),
    rename: (from, to) => guard(() => disk.rename(from, to)),
    remove: (path) => guard(() => disk.remove(path)),
    removeFolder: (path) => guard(() => disk.removeFolder(path)),
    syncFolder: (path) => guard(() => disk.syncFolder(path)),
    space: (path) => guard(() => disk.space(path)),
    openFile: async (path, mode): Promise<FsFile> => {
      const file = await guard(() => disk.openFile(path, mode));
      return {
        size: () => guard(() => file.size()),
        read: (offset, length) => guard(() => file.read(offset, length)),
        write: (offset, parts) => guard(() => file.write(offset, parts)),
        truncate: (length) => guard(() => file.truncate(length)),
        sync: () => guard(() => file.sync()),
        close: () => guard(() => file.close()),
      };
    },
  };
}

/** Makes an index as the thread does: its file gets its name when it is durable. */
function indexMaker(disk: SimFs, fs: Fs): MakeIndex {
  const write = (path: string, bytes: Uint8Array) => {
    const at = path.lastIndexOf('/');
    return writeFileAtomically(fs, path.slice(0, at), path.slice(at + 1), [bytes]);
  };
  return async (files, _signal, transfer) => {
    const reply = await makeIndexInTurn(files, disk, write, transfer);
    if (reply.kind === 'failed') throw new SimKilled('an index cannot be made');
    return reply.shape;
  };
}
