/**
 * The lock that ensures a single writer per data folder. The owner listens on a Unix socket in the folder. A second
 * process can connect to it; the socket of a dead owner refuses connections, so a stale lock is recognized without
 * comparing ages or process ids. Node has no file locks without a native module.
 */
import {
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { makeFolder } from './make-folder.ts';

const socketName = 'writer.sock';
/** A system has about 104 bytes for the path of a socket. Some reject a longer path, others silently truncate it. */
const socketPathBytesMax = 100;
/**
 * The kernel accepts connections even for an owner that is stopped or very busy. If the attempt to connect has neither succeeded nor
 * failed after this time, an owner is assumed to exist.
 */
const connectMsMax = 2_000;
const attemptCountMax = 5;

export class WriterLock {
  /** The path of the socket. It may be too long to listen on, see `reachFolder`. */
  readonly #path: string;
  #server: Server;
  #inode: bigint;
  #term = 0;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
    this.#inode = inodeOf(path) ?? -1n;
  }

  /**
   * Acquires the lock of a folder, creating the folder if necessary. Throws `data-folder-locked` if another process
   * holds it.
   */
  static async acquire(folder: string): Promise<WriterLock> {
    await makeFolder(folder).catch((error: NodeJS.ErrnoException) => {
      throw unusable(folder, error);
    });
    const path = join(realpathSync(folder), socketName);
    for (let attempt = 0; attempt < attemptCountMax; attempt++) {
      const server = await listen(path).catch((error: NodeJS.ErrnoException) => {
        throw unusable(folder, error);
      });
      if (server !== undefined) return new WriterLock(server, path);
      if (await hasOwner(path)) break;
      if (!(await removeDead(path, attempt))) break;
    }
    throw new CodedError('data-folder-locked', { folder });
  }

  /** Whether this process still holds the lock. A process that lost it must not write. */
  get isHeld(): boolean {
    return this.#server.listening && inodeOf(this.#path) === this.#inode;
  }

  /** The number of times the lock was reacquired. Another process may have written between two terms. */
  get term(): number {
    return this.#term;
  }

  /** Reacquires the lock if it was lost and is free. Throws `data-folder-locked` if another process holds it. */
  async reacquire(): Promise<void> {
    for (let attempt = 0; attempt < attemptCountMax && !this.isHeld; attempt++) {
      if (inodeOf(this.#path) !== undefined) {
        if (await hasOwner(this.#path)) break;
        if (!(await removeDead(this.#path, attempt))) break;
      }
      await this.release();
      const server = await listen(this.#path).catch((error: NodeJS.ErrnoException) => {
        throw new CodedError('storage-failed', { operation: 'lock', errno: error.code ?? '' });
      });
      if (server === undefined) continue;
      this.#server = server;
      this.#inode = inodeOf(this.#path) ?? -1n;
      this.#term++;
    }
    if (!this.isHeld) throw new CodedError('data-folder-locked');
  }

  /**
   * Releases the lock. Closing the server removes the socket file, even if another process created it. In that case the
   * server stays open until this process exits.
   */
  async release(): Promise<void> {
    const isOthers = ![undefined, this.#inode].includes(inodeOf(this.#path));
    if (!this.#server.listening || isOthers) return;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** A path of a folder that is short enough for sockets. It is valid until it is closed. */
interface ReachedFolder {
  readonly path: string;
  readonly close: () => void;
}

/**
 * Returns a short path for a folder whose path may be too long for a socket. The socket itself is always in the data folder, because
 * two processes may have different temporary folders. Linux has a short path for every open folder; elsewhere it is a symbolic link.
 */
export function reachFolder(folder: string, platform = process.platform): ReachedFolder {
  const longest = join(folder, `${socketName}.${process.pid}.${attemptCountMax}`);
  if (Buffer.byteLength(longest) < socketPathBytesMax) {
    return { path: folder, close: () => undefined };
  }
  if (platform === 'linux') {
    const descriptor = openSync(folder, 'r');
    return { path: `/proc/self/fd/${descriptor}`, close: () => closeSync(descriptor) };
  }
  const temporary = mkdtempSync(join(tmpdir(), 'sluice-'));
  const path = join(temporary, 'data');
  symlinkSync(folder, path);
  return { path, close: () => rmSync(temporary, { recursive: true }) };
}

/**
 * Returns whether the process that holds the lock of a folder is running. A running owner closes every connection to its socket at once.
 * For a stopped process the kernel accepts connections too, but they stay open.
 */
export function isOwnerRunning(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(join(realpathSync(folder), socketName));
    const finish = (isRunning: boolean) => {
      socket.destroy();
      resolve(isRunning);
    };
    socket.setTimeout(connectMsMax, () => finish(false));
    socket.once('end', () => finish(true));
    socket.once('error', () => finish(true));
    socket.resume();
  });
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const folder = reachFolder(dirname(path));
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      folder.close();
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(join(folder.path, basename(path)), () => {
      // Closing the server removes the socket by the path that it was created with.
      server.once('close', folder.close);
      resolve(server);
    });
  });
}

function connectTo(path: string): Socket {
  const folder = reachFolder(dirname(path));
  return connect(join(folder.path, basename(path))).once('close', folder.close);
}

function unusable(folder: string, cause: NodeJS.ErrnoException): CodedError {
  return new CodedError('data-folder-unusable', { folder, reason: cause.code ?? '' }, { cause });
}

function hasOwner(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(path);
    const finish = (isOwned: boolean) => {
      socket.destroy();
      resolve(isOwned);
    };
    socket.setTimeout(connectMsMax, () => finish(true));
    socket.once('connect', () => finish(true));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      finish(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/**
 * Removes the socket of a dead owner. Two processes may find the same one, so the socket is renamed first and tested
 * again: if it now has an owner, another process has just created its own socket there, and the socket is moved back.
 * While it is away, that process does not hold the lock. Returns false if the socket was not dead.
 */
async function removeDead(path: string, attempt: number): Promise<boolean> {
  const aside = `${path}.${process.pid}.${attempt}`;
  try {
    await rename(path, aside);
    if (await hasOwner(aside)) {
      await rename(aside, path);
      return false;
    }
    await unlink(aside);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  return true;
}

/**
 * Asks for big integers because of a fault of Node (seen in 20.20): its module loader reads the numbers of the
 * last status that was fetched synchronously. If that was the status of a socket, the loader does not resolve links, and
 * the process gets second copies of modules. Big integers are kept elsewhere.
 */
function inodeOf(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
