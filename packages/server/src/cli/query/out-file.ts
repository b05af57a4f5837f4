/**
 * The file of `--out`, with a second file that stores the progress:
 *
 *   FILE          lines or rows, appended
 *   FILE.cursor   the cursor of the stream, the length of FILE at that cursor, and the end of each block in FILE that may
 *                 still be replaced
 *
 * The second file is replaced atomically after the first was written. Text of FILE beyond the stored length is truncated when the
 * command continues, so that no block is duplicated or incomplete. After a fork, FILE is truncated to the common block.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { CodedError } from '@sluice/base/errors';
import { type CursorState, parseCursorState } from '@sluice/client';
import { unwritable } from '../write-output.ts';

/** The end of the lines of a block. */
interface Mark {
  readonly slot: number;
  readonly end: number;
}

interface OutState {
  /** The query and the format as text, without the range. */
  readonly query: string;
  readonly cursor: CursorState;
  readonly bytes: number;
  readonly marks: readonly Mark[];
}

export interface OutFileOptions {
  readonly path: string;
  /** The query and the format as text. A file can only be continued with the same. */
  readonly request: string;
  readonly force: boolean;
  /** Written at the start of a new file. */
  readonly heading: string;
}

/** The limit of blocks that may be replaced. Usually they are a few dozen; more means that the service reports no finalized block. */
const markCountMax = 10_000;
const saveEveryMs = 1_000;

export class OutFile {
  readonly #path: string;
  readonly #query: string;
  readonly #file: FileHandle;
  #bytes: number;
  #marks: Mark[];
  #cursor: CursorState | undefined;
  #savedMs = 0;

  private constructor(path: string, file: FileHandle, state: Omit<OutState, 'cursor'>) {
    this.#path = path;
    this.#file = file;
    this.#query = state.query;
    this.#bytes = state.bytes;
    this.#marks = [...state.marks];
  }

  static async open({ path, request, force, heading }: OutFileOptions): Promise<OutFile> {
    const query = createHash('sha256').update(request).digest('hex');
    const state = force ? undefined : await readState(path, query);
    if (state === undefined) return OutFile.#create(path, { query, force, heading });
    const file = await attempt(path, () => open(path, 'r+'));
    await attempt(path, () => file.truncate(state.bytes));
    const out = new OutFile(path, file, state);
    out.#cursor = state.cursor;
    return out;
  }

  static async #create(
    path: string,
    { query, force, heading }: { query: string; force: boolean; heading: string },
  ): Promise<OutFile> {
    const isThere = await stat(path).catch(() => undefined);
    if (isThere !== undefined && !force) throw new CodedError('cli-file-exists', { path });
    if (isThere?.isFile() === false) throw new CodedError('cli-file-irregular', { path });
    await rm(cursorPath(path), { force: true });
    const file = await attempt(path, () => open(path, 'w'));
    const bytes = Buffer.byteLength(heading);
    const out = new OutFile(path, file, { query, bytes: 0, marks: [{ slot: -1, end: bytes }] });
    await out.#write(heading);
    return out;
  }

  /** The position from which the stream continues; undefined for a new file. */
  get cursor(): CursorState | undefined {
    return this.#cursor;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Appends the texts of blocks, by slot. */
  async append(texts: readonly (readonly [slot: number, text: string])[]): Promise<void> {
    let end = this.#bytes;
    for (const [slot, text] of texts) {
      end += Buffer.byteLength(text);
      this.#marks.push({ slot, end });
    }
    await this.#write(texts.map(([, text]) => text).join(''));
  }

  /** Removes all blocks above a slot. The new length is saved first, because after a crash a file that is longer than the stored length can still be resumed. */
  async rollBack(slot: number, cursor: CursorState): Promise<void> {
    const last = this.#marks.findLastIndex((mark) => mark.slot <= slot);
    const mark = this.#marks[last];
    if (mark === undefined) {
      const fault = `the ledger forked at slot ${slot}, below the blocks whose positions in the file are known`;
      throw new CodedError('cli-out-damaged', { path: this.#path, fault });
    }
    this.#marks = this.#marks.slice(0, last + 1);
    this.#bytes = mark.end;
    this.#cursor = cursor;
    await this.#save();
    await attempt(this.#path, () => this.#file.truncate(mark.end));
  }

  /** Records the progress, which is saved from time to time and when the file is closed. */
  async note(cursor: CursorState, finalizedSlot: number | undefined, nowMs: number): Promise<void> {
    this.#cursor = cursor;
    const floor = this.#marks.findLastIndex(({ slot }) => slot <= (finalizedSlot ?? -1));
    this.#marks = this.#marks.slice(Math.max(floor, this.#marks.length - markCountMax, 0));
    if (nowMs - this.#savedMs < saveEveryMs) return;
    this.#savedMs = nowMs;
    await this.#save();
  }

  async close(): Promise<void> {
    try {
      await this.#save();
    } finally {
      await this.#file.close();
    }
  }

  async #save(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === undefined) return;
    await attempt(this.#path, () => this.#file.datasync());
    const state: OutState = { query: this.#query, cursor, bytes: this.#bytes, marks: this.#marks };
    const cursorFile = cursorPath(this.#path);
    const temporary = `${cursorFile}.${process.pid}.tmp`;
    await attempt(cursorFile, async () => {
      await writeFile(temporary, `${JSON.stringify(state)}\n`);
      await rename(temporary, cursorFile);
    });
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) {
      const position = this.#bytes + at;
      const { bytesWritten } = await attempt(this.#path, () =>
        this.#file.write(bytes, at, bytes.length - at, position),
      );
      at += bytesWritten;
    }
    this.#bytes += bytes.length;
  }
}

function cursorPath(path: string): string {
  return `${path}.cursor`;
}

/** Returns the state of the last run; undefined when there is no cursor file. */
async function readState(path: string, query: string): Promise<OutState | undefined> {
  const text = await readFile(cursorPath(path), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const state = parseState(text, path);
  if (state.query !== query) throw new CodedError('cli-out-differs', { path });
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size < state.bytes) {
    const fault = `it has ${size} bytes, not the ${state.bytes} that were written`;
    throw new CodedError('cli-out-damaged', { path, fault });
  }
  return state;
}

function parseState(text: string, path: string): OutState {
  try {
    const { query, cursor, bytes, marks } = JSON.parse(text) as OutState;
    const isWhole = Number.isSafeInteger(bytes) && Array.isArray(marks);
    if (isWhole) return { query: String(query), cursor: parseCursorState(cursor), bytes, marks };
  } catch (error) {
    throw unreadable(path, error);
  }
  throw unreadable(path);
}

function unreadable(path: string, cause?: unknown): CodedError {
  const fault = `${cursorPath(path)} cannot be read`;
  return new CodedError('cli-out-damaged', { path, fault }, { cause });
}

async function attempt<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unwritable(path, error);
  }
}
