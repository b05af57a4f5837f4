/**
 * One writer a data folder. The owner listens on a Unix socket in it: a second process finds it answered, and the socket
 * of an owner that died refuses, so that no stale lock has to be judged by age or process id.
 */
import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../base/errors.ts';
import { makeFolder } from './make-folder.ts';

/** The system cuts longer socket paths without a word, and two folders would share one lock. */
const socketPathBytesMax = 100;
/** An owner that is stopped or very busy still has its connections accepted by the system. */
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

  /** Takes the lock of a folder, which is made if it is not there, or refuses with `data-folder-locked`. */
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

  /** Whether the lock is still ours. One that lost it, to whatever hand, must not write. */
  get isHeld(): boolean {
    return this.#server.listening && inodeOf(this.#path) === this.#inode;
  }

  /** How often it was taken again: between two terms somebody else may have written. */
  get term(): number {
    return this.#term;
  }

  /** Takes the lock again if it was lost and nobody has it; else refuses with `data-folder-locked`. */
  async retake(): Promise<void> {
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

  /** Closing removes the socket, whosever it is: one that another process has put there is left, and ours to our end. */
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
 * Two processes may find the same dead socket. Moving it away first and asking it again shows whether the other one has
 * put its own there meanwhile; that one then notices that it no longer holds the lock. False if it was not dead.
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
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return true;
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}
