/**
 * The lock that ensures a single writer per data folder. The owner listens on a Unix socket in the folder. A second
 * process can connect to it; the socket of a dead owner refuses connections, so a stale lock is recognized without
 * comparing ages or process ids. Node has no file locks without a native module.
 */
import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { makeFolder } from './make-folder.ts';

/** The system silently truncates longer socket paths, so that two folders could share one lock. */
const socketPathBytesMax = 100;
/**
 * The kernel accepts connections even for an owner that is stopped or very busy, so an attempt without an answer within
 * this time counts as answered.
 */
const answerMsMax = 2_000;
const attemptCountMax = 5;

export class WriterLock {
  readonly #path: string;
  #server: Server;
  #inode: number;
  #term = 0;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
    this.#inode = inodeOf(path) ?? -1;
  }

  /**
   * Acquires the lock of a folder, creating the folder if necessary. Throws `data-folder-locked` if another process
   * holds it.
   */
  static async acquire(folder: string): Promise<WriterLock> {
    await makeFolder(folder).catch((error: NodeJS.ErrnoException) => {
      throw unusable(folder, error);
    });
    const path = socketPath(folder);
    for (let attempt = 0; attempt < attemptCountMax; attempt++) {
      const server = await listen(path).catch((error: NodeJS.ErrnoException) => {
        throw unusable(folder, error);
      });
      if (server !== undefined) return new WriterLock(server, path);
      if (await isAnswered(path)) break;
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
        if (await isAnswered(this.#path)) break;
        if (!(await removeDead(this.#path, attempt))) break;
      }
      await this.release();
      const server = await listen(this.#path).catch((error: NodeJS.ErrnoException) => {
        throw new CodedError('storage-failed', { operation: 'lock', errno: error.code ?? '' });
      });
      if (server === undefined) continue;
      this.#server = server;
      this.#inode = inodeOf(this.#path) ?? -1;
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

export function socketPath(folder: string): string {
  const real = realpathSync(folder);
  const path = join(real, 'writer.sock');
  if (Buffer.byteLength(path) < socketPathBytesMax) return path;
  return join(tmpdir(), `sluice-${createHash('sha256').update(real).digest('hex').slice(0, 32)}`);
}

/**
 * Whether the process that holds the lock of a folder runs. It closes every connection to its socket at once, while the kernel accepts
 * connections for a stopped process, which then stay open.
 */
export function isOwnerRunning(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(folder));
    const finish = (isRunning: boolean) => {
      socket.destroy();
      resolve(isRunning);
    };
    socket.setTimeout(answerMsMax, () => finish(false));
    socket.once('end', () => finish(true));
    socket.once('error', () => finish(true));
    socket.resume();
  });
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => resolve(server));
  });
}

function unusable(folder: string, cause: NodeJS.ErrnoException): CodedError {
  return new CodedError('data-folder-unusable', { folder, reason: cause.code ?? '' }, { cause });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(answerMsMax, () => finish(true));
    socket.once('connect', () => finish(true));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      finish(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/**
 * Removes the socket of a dead owner. Two processes may find the same one, so the socket is renamed first and tested
 * again: if it now answers, another process has just created its own socket there, and the socket is moved back. While
 * it is away, that process does not hold the lock. Returns false if the socket was not dead.
 */
async function removeDead(path: string, attempt: number): Promise<boolean> {
  const aside = `${path}.${process.pid}.${attempt}`;
  try {
    await rename(path, aside);
    if (await isAnswered(aside)) {
      await rename(aside, path);
      return false;
    }
    await unlink(aside);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  return true;
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}
