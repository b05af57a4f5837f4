/** The indexes over segments of a dataset in an object store. An index is stored in pieces, because a store limits the size of an object. */
import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import type { IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import { indexFile } from '../chain/segment-lists.ts';
import type { IndexInputs, MakeIndex, OpenIndexFile } from '../dataset/history/index-thread.ts';
import type { IndexTransfer } from '../dataset/history/transfer-channel.ts';
import type { CachedObject } from '../object-store/cached-object.ts';
import type { ObjectCache } from '../object-store/object-cache.ts';
import type { ObjectInfo, ObjectStore } from '../object-store/object-store.ts';
import { damaged } from '../segment/encoding/unit.ts';
import { type IndexShape, indexByteLength } from '../segment/history/layout.ts';
import { verifyIndex } from '../segment/history/read-index.ts';
import { type Fs, readWholeFile } from '../storage/fs.ts';
import { ReadAhead } from './read-ahead.ts';

export interface BucketIndexesOptions {
  readonly dataset: string;
  /** For the files of which an index is made, and pieces of it. They are removed afterwards. */
  readonly workFolder: string;
  /** The length of all pieces but the last. The names of the pieces depend on it, so all processes must use the same. */
  readonly pieceBytes?: number;
}

export interface BucketIndexesDependencies {
  readonly store: ObjectStore;
  readonly cache: ObjectCache;
  readonly fs: Fs;
  readonly readSegment: (segment: SealedSegment) => Promise<Uint8Array>;
}

export interface LocalFile {
  readonly fs: Fs;
  readonly path: string;
}

/** Bytes with their positions in a file. */
type Parts = Iterable<readonly [number, Uint8Array]> | AsyncIterable<readonly [number, Uint8Array]>;

/** An upload holds one piece in memory. */
const defaultPieceBytes = 64 << 20;

type WrittenObject = Pick<ObjectInfo, 'key' | 'byteLength'>;

interface Piece {
  readonly name: string;
  readonly start: number;
  readonly byteLength: number;
}

function pieceName(id: string, number: number): string {
  return `${id}.${number}`;
}

type ReadPart = (piece: Piece, start: number, byteLength: number) => Promise<Uint8Array>;

/** Reads a range of an index from its pieces. */
async function readPieces(
  pieces: readonly Piece[],
  { position, length }: { readonly position: number; readonly length: number },
  readPart: ReadPart,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const piece of pieces) {
    const start = Math.max(0, position - piece.start);
    const end = Math.min(piece.byteLength, position + length - piece.start);
    if (start < end) parts.push(await readPart(piece, start, end - start));
  }
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}

/** Returns the name of the index that a piece belongs to. */
export function indexOfPiece(name: string): string {
  return name.slice(0, name.lastIndexOf('.'));
}

export class BucketIndexes {
  readonly #options: BucketIndexesOptions;
  readonly #dependencies: BucketIndexesDependencies;

  constructor(options: BucketIndexesOptions, dependencies: BucketIndexesDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  open(run: IndexRun): OpenIndexFile {
    const pieces = this.#piecesOf(run);
    return {
      read: (position, length) =>
        readPieces(pieces, { position, length }, (piece, start, count) =>
          this.#cached(piece).read(start, count),
        ),
      discard: () => {
        for (const piece of pieces) this.#cached(piece).evict();
      },
      close: async () => undefined,
    };
  }

  /** Makes an index of segments on the local disk and uploads it. Merges indexes in the store, with a few pieces of the new one on the disk. */
  async make(
    { id, segments, runs }: IndexInputs,
    make: MakeIndex,
    signal: AbortSignal,
  ): Promise<IndexShape> {
    const { fs, readSegment } = this.#dependencies;
    const folder = `${this.#options.workFolder}/${id}`;
    await fs.makeFolder(folder);
    try {
      const target = `${folder}/${id}`;
      if (runs.length > 0) {
        const names = runs.map((run) => run.id);
        const stored: number[] = [];
        const transfer = this.#transfer(id, runs, (byteLength) => stored.push(byteLength));
        const shape = await make({ segments: [], runs: names, target }, signal, transfer);
        const byteLength = stored.reduce((sum, length) => sum + length, 0);
        if (byteLength !== indexByteLength(shape))
          throw new CodedError('store-upload-differs', { segment: id });
        return shape;
      }
      const segmentFiles = [];
      for (const [i, { segment, first, last }] of segments.entries()) {
        const path = `${folder}/segment-${i}`;
        await writeFile({ fs, path }, [[0, await readSegment(segment)]]);
        segmentFiles.push({ path, first, last });
      }
      const shape = await make({ segments: segmentFiles, runs: [], target }, signal);
      await this.upload({ id, byteLength: indexByteLength(shape) }, { fs, path: target });
      return shape;
    } finally {
      await fs.removeFolder(folder);
    }
  }

  /** Inputs are read from the store and not through the cache, whose content is of more use than all of them. */
  #transfer(
    id: string,
    runs: readonly IndexRun[],
    onStored: (byteLength: number) => void,
  ): IndexTransfer {
    const { store, fs } = this.#dependencies;
    const readers = new Map(
      runs.map((run) => {
        const pieces = this.#piecesOf(run);
        const readRange = (position: number, length: number) =>
          readPieces(pieces, { position, length }, (piece, start, count) =>
            store.get(this.#keyOf(piece), { start, end: start + count }),
          );
        return [run.id, new ReadAhead(run.byteLength, readRange)];
      }),
    );
    return {
      pieceBytes: this.#pieceBytes,
      read: async (name, position, length) => {
        const reader = readers.get(name);
        assert(reader !== undefined, 'an index that is read is one of the inputs');
        return reader.read(position, length);
      },
      store: async (number, path) => {
        const { byteLength } = await this.#put(
          pieceName(id, number),
          await readWholeFile(fs, path),
        );
        onStored(byteLength);
        await fs.remove(path);
      },
    };
  }

  /** Copies a local file of an index to the store, without the pieces for which `isStored` returns true. Returns the others. */
  async upload(
    run: Pick<IndexRun, 'id' | 'byteLength'>,
    { fs, path }: LocalFile,
    isStored: (key: string, byteLength: number) => boolean = () => false,
  ): Promise<readonly WrittenObject[]> {
    const written: WrittenObject[] = [];
    const file = await fs.openFile(path, 'read');
    try {
      for (const piece of this.#piecesOf(run)) {
        if (isStored(this.#keyOf(piece), piece.byteLength)) continue;
        const bytes = await file.read(piece.start, piece.byteLength);
        written.push(await this.#put(piece.name, bytes));
      }
      return written;
    } finally {
      await file.close();
    }
  }

  async #put(name: string, bytes: Uint8Array): Promise<WrittenObject> {
    const { store } = this.#dependencies;
    const key = this.#keyOf({ name });
    await store.put(key, bytes);
    const stored = await store.head(key);
    if (stored?.byteLength !== bytes.length)
      throw new CodedError('store-upload-differs', { segment: name });
    return { key, byteLength: bytes.length };
  }

  /** Reads the whole index from the store and verifies all of its checksums. */
  async verify(run: IndexRun): Promise<void> {
    const { store } = this.#dependencies;
    const pieces = this.#piecesOf(run);
    // Pages and the lists that continue them are read in turn, so two pieces are in use at a time.
    const held = new Map<Piece, Uint8Array>();
    const readPart: ReadPart = async (piece, start, count) => {
      const bytes = held.get(piece) ?? (await store.get(this.#keyOf(piece)));
      held.delete(piece);
      held.set(piece, bytes);
      for (const older of [...held.keys()].slice(0, -2)) held.delete(older);
      return bytes.subarray(start, start + count);
    };
    await verifyIndex(run, (position, length) =>
      readPieces(pieces, { position, length }, readPart),
    );
    const last = pieces.at(-1);
    const { byteLength } = (last && (await store.head(this.#keyOf(last)))) ?? {};
    if (byteLength !== last?.byteLength) throw damaged('file', 'it has another length');
  }

  /** Removes an index from the store. */
  async remove(run: IndexRun): Promise<void> {
    for (const piece of this.#piecesOf(run))
      await this.#dependencies.store.remove(this.#keyOf(piece));
  }

  /** Returns whether the store has an index, by the sizes of its objects. */
  isComplete(run: IndexRun, isStored: (key: string, byteLength: number) => boolean): boolean {
    return this.#piecesOf(run).every((piece) => isStored(this.#keyOf(piece), piece.byteLength));
  }

  /** Copies an index from the store to a new local file. */
  async download(run: IndexRun, target: LocalFile): Promise<void> {
    const { store } = this.#dependencies;
    const pieces = this.#piecesOf(run);
    const read = async function* (keyOf: (piece: Piece) => string) {
      for (const piece of pieces) yield [piece.start, await store.get(keyOf(piece))] as const;
    };
    await writeFile(
      target,
      read((piece) => this.#keyOf(piece)),
    );
  }

  /** Returns the pieces of an index, whose names follow from its name. */
  #piecesOf({ id, byteLength }: Pick<IndexRun, 'id' | 'byteLength'>): Piece[] {
    return Array.from({ length: Math.ceil(byteLength / this.#pieceBytes) }, (_, number) => {
      const start = number * this.#pieceBytes;
      const end = Math.min(byteLength, start + this.#pieceBytes);
      return { name: pieceName(id, number), start, byteLength: end - start };
    });
  }

  get #pieceBytes(): number {
    return this.#options.pieceBytes ?? defaultPieceBytes;
  }

  #keyOf({ name }: Pick<Piece, 'name'>): string {
    return `${this.#options.dataset}/${indexFile({ id: name })}`;
  }

  #cached(piece: Piece): CachedObject {
    return this.#dependencies.cache.use(piece.name, this.#keyOf(piece), piece.byteLength);
  }
}

async function writeFile({ fs, path }: LocalFile, parts: Parts): Promise<void> {
  const file = await fs.openFile(path, 'create');
  try {
    for await (const [position, bytes] of parts) await file.write(position, [bytes]);
    await file.sync();
  } finally {
    await file.close();
  }
}
