/**
 * A simulated disk in memory that loses unsynced data, tears partial writes, and fails on demand. All randomness comes
 * from the caller, so that a seed reproduces a run.
 */
import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import type { DiskSpace, Fs, FsFile, OpenMode } from '../fs.ts';
import type { RangeFile } from '../range-file.ts';

/** `EROFS`: the file system was mounted again, read-only. */
export type SimFault = 'EIO' | 'ENOSPC' | 'EROFS' | 'kill';

export interface SimOperation {
  readonly name: string;
  readonly path: string;
  /** Counted from 0 since the disk was created or restarted. */
  readonly index: number;
}

/** Thrown by every operation of a process that was killed. */
export class SimKilled extends Error {}

interface Inode {
  current: Uint8Array;
  durable: Uint8Array;
  /** Byte ranges written since the last sync: [start, end). */
  dirty: [number, number][];
}

type FolderOperation = (entries: Map<string, Inode>) => void;

const sectorBytes = 512;

export class SimFs implements Fs {
  #entries = new Map<string, Inode>();
  #durableEntries = new Map<string, Inode>();
  #unsyncedFolderOperations: FolderOperation[] = [];
  #operationCount = 0;
  #killed = false;
  #epoch = 0;
  /** The number of open files of the current process. */
  openFileCount = 0;
  /** Returns the fault to inject into an operation, or `undefined` for none. */
  fault: (operation: SimOperation) => SimFault | undefined = () => undefined;
  diskSpace: DiskSpace = { freeBytes: 1e12, totalBytes: 2e12 };

  get operationCount(): number {
    return this.#operationCount;
  }

  /** Simulates a process crash: written data is in the page cache and survives. */
  restart(): void {
    this.#killed = false;
    this.#epoch++;
    this.openFileCount = 0;
    this.#operationCount = 0;
    this.fault = () => undefined;
  }

  /** Simulates a power loss: of the unsynced data, any subset of sectors and directory entries may survive. */
  powerLoss(random: () => number): void {
    const entries = new Map(this.#durableEntries);
    for (const operation of this.#unsyncedFolderOperations) {
      if (random() < 0.5) operation(entries);
    }
    for (const inode of new Set([...entries.values(), ...this.#durableEntries.values()])) {
      tear(inode, random);
    }
    this.#entries = new Map(entries);
    this.#durableEntries = entries;
    this.#unsyncedFolderOperations = [];
    this.restart();
  }

  paths(): string[] {
    return [...this.#entries.keys()].sort();
  }

  readRaw(path: string): Uint8Array {
    return this.#inode(path).current.slice();
  }

  /** Replaces a file's content durably, to simulate bit rot or the files of an earlier run. */
  writeRaw(path: string, bytes: Uint8Array): void {
    const inode = { current: bytes.slice(), durable: bytes.slice(), dirty: [] };
    this.#entries.set(path, inode);
    this.#durableEntries.set(path, inode);
  }

  /** Changes one bit of a file, also for those who have it open. Returns the function that repairs it. */
  flipBit(path: string, at: number): () => void {
    const inode = this.#inode(path);
    const flip = () => {
      for (const bytes of new Set([inode.current, inode.durable])) {
        const offset = at >> 3;
        if (offset < bytes.length) bytes[offset] = (bytes[offset] as number) ^ (1 << (at & 7));
      }
    };
    flip();
    return flip;
  }

  /** Opens a file as a worker thread does, which reads without waiting. The content stays readable after a removal. */
  openRange(path: string): RangeFile {
    const inode = this.#entries.get(path);
    if (inode === undefined) throw new CodedError('file-unreadable', { path });
    const read = (offset: number, length: number) => {
      const fate = this.fault({ name: 'read', path, index: this.#operationCount++ });
      if (fate !== undefined) throw Object.assign(new Error(`${fate} in read`), { code: fate });
      return inode.current.subarray(offset, offset + length);
    };
    return {
      get length() {
        return inode.current.byteLength;
      },
      read: (offset, length) => read(offset, length).slice(),
      readInto: (offset, target) => {
        const bytes = read(offset, target.length);
        target.set(bytes);
        return bytes.length;
      },
      close: () => undefined,
    };
  }

  /** Returns a disk with the same content, all of it durable. */
  copy(): SimFs {
    const copy = new SimFs();
    for (const [path, { current }] of this.#entries) copy.writeRaw(path, current);
    return copy;
  }

  async makeFolder(path: string): Promise<void> {
    this.#step('makeFolder', path);
  }

  async list(path: string): Promise<string[]> {
    this.#step('list', path);
    const names = this.paths().filter((name) => name.startsWith(`${path}/`));
    return [...new Set(names.map((name) => name.slice(path.length + 1).split('/')[0] as string))];
  }

  async openFile(path: string, mode: OpenMode): Promise<FsFile> {
    this.#step('openFile', path);
    const existing = this.#entries.get(path);
    if (mode === 'create') {
      if (existing !== undefined) throw new CodedError('storage-failed', { errno: 'EEXIST' });
      const inode: Inode = { current: new Uint8Array(), durable: new Uint8Array(), dirty: [] };
      this.#changeFolder((entries) => entries.set(path, inode));
      return this.#openInode(inode, path);
    }
    return this.#openInode(this.#inode(path), path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step('rename', from);
    if (!this.#entries.has(from)) return this.#renameFolder(from, to);
    const inode = this.#inode(from);
    this.#changeFolder((entries) => {
      entries.delete(from);
      entries.set(to, inode);
    });
  }

  async remove(path: string): Promise<void> {
    this.#step('remove', path);
    this.#inode(path);
    this.#changeFolder((entries) => entries.delete(path));
  }

  async removeFolder(path: string): Promise<void> {
    this.#step('removeFolder', path);
    for (const name of this.paths().filter((name) => name.startsWith(`${path}/`))) {
      this.#changeFolder((entries) => entries.delete(name));
    }
  }

  async syncFolder(path: string): Promise<void> {
    this.#step('syncFolder', path);
    this.#durableEntries = new Map(this.#entries);
    this.#unsyncedFolderOperations = [];
  }

  async space(path: string): Promise<DiskSpace> {
    this.#step('space', path);
    return this.diskSpace;
  }

  #renameFolder(from: string, to: string): void {
    const moved = this.paths().filter((path) => path.startsWith(`${from}/`));
    if (moved.length === 0) throw new CodedError('storage-missing', { path: from });
    const inodes = moved.map((path) => [path, this.#inode(path)] as const);
    this.#changeFolder((entries) => {
      for (const [path, inode] of inodes) {
        entries.delete(path);
        entries.set(`${to}${path.slice(from.length)}`, inode);
      }
    });
  }

  #changeFolder(operation: FolderOperation): void {
    operation(this.#entries);
    this.#unsyncedFolderOperations.push(operation);
  }

  #inode(path: string): Inode {
    const inode = this.#entries.get(path);
    if (inode === undefined) throw new CodedError('storage-missing', { path });
    return inode;
  }

  #openInode(inode: Inode, path: string): FsFile {
    const epoch = this.#epoch;
    let isOpen = true;
    this.openFileCount++;
    const step = (name: string) => {
      if (epoch !== this.#epoch)
        throw new SimKilled('the process that opened this file was killed');
      return this.#step(name, path);
    };
    return {
      size: async () => {
        step('size');
        return inode.current.byteLength;
      },
      read: async (offset, length) => {
        step('read');
        return inode.current.slice(offset, offset + length);
      },
      write: async (offset, parts) => {
        const bytes = Buffer.concat(parts);
        const fate = this.#peek('write', path);
        // A full disk, or a kill during the write, leaves half of the bytes.
        const writtenShare = fate === 'EROFS' ? 0 : fate === undefined ? 1 : 0.5;
        writeInode(inode, offset, bytes.subarray(0, bytes.length * writtenShare));
        step('write');
      },
      truncate: async (length) => {
        step('truncate');
        const kept = inode.current.subarray(0, length);
        inode.current = new Uint8Array(length);
        inode.current.set(kept);
      },
      sync: async () => {
        // A failed sync clears the dirty ranges, as Linux does: the next sync succeeds without writing them.
        if (this.#peek('sync', path) === 'EIO') inode.dirty = [];
        step('sync');
        syncInode(inode);
      },
      close: async () => {
        if (epoch !== this.#epoch) return;
        // The file counts as closed even if `close` reports an error.
        if (isOpen) this.openFileCount--;
        isOpen = false;
        this.#step('close', path);
      },
    };
  }

  #peek(name: string, path: string): SimFault | undefined {
    return this.#killed ? 'kill' : this.fault({ name, path, index: this.#operationCount });
  }

  #step(name: string, path: string): void {
    const fate = this.#peek(name, path);
    this.#operationCount++;
    if (fate === 'kill') {
      this.#killed = true;
      throw new SimKilled(`killed in ${name}`);
    }
    if (fate === 'ENOSPC') throw new CodedError('storage-full', { operation: name });
    if (fate !== undefined)
      throw new CodedError('storage-failed', { operation: name, errno: fate });
  }
}

/**
 * Returns the bytes with another length. Buffers have spare capacity, because tests append to files thousands of times.
 */
function resize(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.byteOffset + length <= bytes.buffer.byteLength) {
    return new Uint8Array(bytes.buffer, bytes.byteOffset, length);
  }
  const grown = new Uint8Array(Math.max(4_096, length * 2));
  grown.set(bytes);
  return grown.subarray(0, length);
}

function writeInode(inode: Inode, offset: number, bytes: Uint8Array): void {
  const { byteLength } = inode.current;
  assert(offset <= byteLength, 'no write starts beyond the end of the file');
  inode.current = resize(inode.current, Math.max(byteLength, offset + bytes.byteLength));
  inode.current.set(bytes, offset);
  inode.dirty.push([offset, offset + bytes.byteLength]);
}

function syncInode(inode: Inode): void {
  const { current, durable } = inode;
  inode.durable = resize(durable, current.byteLength);
  inode.durable.fill(0, Math.min(durable.byteLength, current.byteLength));
  for (const [start, end] of inode.dirty) inode.durable.set(current.subarray(start, end), start);
  inode.dirty = [];
}

function tear(inode: Inode, random: () => number): void {
  const { current, durable } = inode;
  const shorter = Math.min(current.byteLength, durable.byteLength);
  const longer = Math.max(current.byteLength, durable.byteLength);
  const length = shorter + Math.floor(random() * (longer - shorter + 1));
  const torn = new Uint8Array(length);
  torn.set(durable.subarray(0, length));
  for (const [start, end] of inode.dirty) {
    for (let at = start; at < Math.min(end, length); at += sectorBytes - (at % sectorBytes)) {
      const sectorEnd = Math.min(end, length, at + sectorBytes - (at % sectorBytes));
      if (random() < 0.5) torn.set(current.subarray(at, sectorEnd), at);
    }
  }
  inode.current = torn;
  inode.durable = torn.slice();
  inode.dirty = [];
}
