/** The indexes over segments of a dataset in an object store. An index is stored in pieces, because a store limits the size of an object. */
import { CodedError } from '@sluice/base/errors';
import type { IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import { indexFile } from '../chain/segment-lists.ts';
import type { IndexInputs, MakeIndex, OpenIndexFile } from '../dataset/history/index-thread.ts';
import type { CachedObject } from '../object-store/cached-object.ts';
import type { ObjectCache } from '../object-store/object-cache.ts';
import type { ObjectInfo, ObjectStore } from '../object-store/object-store.ts';
import { damaged } from '../segment/encoding/unit.ts';
import { type IndexShape, indexByteLength } from '../segment/history/layout.ts';
import { verifyIndex } from '../segment/history/read-index.ts';
import type { Fs } from '../storage/fs.ts';

export interface BucketIndexesOptions {
  readonly dataset: string;
  /** For the files of which an index is made. They are removed afterwards. */
  readonly workFolder: string;
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
const pieceBytes = 64 << 20;

type WrittenObject = Pick<ObjectInfo, 'key' | 'byteLength'>;

interface Piece {
  readonly name: string;
  readonly start: number;
  readonly byteLength: number;
}

/** Returns the pieces of an index, whose names follow from its name. */
function piecesOf({ id, byteLength }: Pick<IndexRun, 'id' | 'byteLength'>): Piece[] {
  return Array.from({ length: Math.ceil(byteLength / pieceBytes) }, (_, number) => {
    const start = number * pieceBytes;
    const end = Math.min(byteLength, start + pieceBytes);
    return { name: `${id}.${number}`, start, byteLength: end - start };
  });
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
    const pieces = piecesOf(run);
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

  /** Fetches the inputs, makes the index of them on the local disk and uploads it. */
  async make(
    { id, segments, runs }: IndexInputs,
    make: MakeIndex,
    signal: AbortSignal,
  ): Promise<IndexShape> {
    const { fs, readSegment } = this.#dependencies;
    const { workFolder: folder } = this.#options;
    await fs.removeFolder(folder);
    await fs.makeFolder(folder);
    try {
      const segmentFiles = [];
      for (const [i, { segment, first, last }] of segments.entries()) {
        const path = `${folder}/segment-${i}`;
        await writeFile({ fs, path }, [[0, await readSegment(segment)]]);
        segmentFiles.push({ path, first, last });
      }
      const runFiles: string[] = [];
      for (const [i, run] of runs.entries()) {
        const path = `${folder}/index-${i}`;
        await this.download(run, { fs, path });
        runFiles.push(path);
      }
      const target = `${folder}/${id}`;
      const shape = await make({ segments: segmentFiles, runs: runFiles, target }, signal);
      await this.upload({ id, byteLength: indexByteLength(shape) }, { fs, path: target });
      return shape;
    } finally {
      await fs.removeFolder(folder);
    }
  }

  /** Copies a local file of an index to the store, without the pieces for which `isStored` returns true. Returns the others. */
  async upload(
    run: Pick<IndexRun, 'id' | 'byteLength'>,
    { fs, path }: LocalFile,
    isStored: (key: string, byteLength: number) => boolean = () => false,
  ): Promise<readonly WrittenObject[]> {
    const { store } = this.#dependencies;
    const written: WrittenObject[] = [];
    const file = await fs.openFile(path, 'read');
    try {
      for (const piece of piecesOf(run)) {
        const key = this.#keyOf(piece);
        if (isStored(key, piece.byteLength)) continue;
        const bytes = await file.read(piece.start, piece.byteLength);
        await store.put(key, bytes);
        const stored = await store.head(key);
        if (stored?.byteLength !== piece.byteLength)
          throw new CodedError('store-upload-differs', { segment: piece.name });
        written.push({ key, byteLength: piece.byteLength });
      }
      return written;
    } finally {
      await file.close();
    }
  }

  /** Reads the whole index from the store and verifies all of its checksums. */
  async verify(run: IndexRun): Promise<void> {
    const { store } = this.#dependencies;
    const pieces = piecesOf(run);
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
    for (const piece of piecesOf(run)) await this.#dependencies.store.remove(this.#keyOf(piece));
  }

  /** Returns whether the store has an index, by the sizes of its objects. */
  isComplete(run: IndexRun, isStored: (key: string, byteLength: number) => boolean): boolean {
    return piecesOf(run).every((piece) => isStored(this.#keyOf(piece), piece.byteLength));
  }

  /** Copies an index from the store to a new local file. */
  async download(run: IndexRun, target: LocalFile): Promise<void> {
    const { store } = this.#dependencies;
    const pieces = piecesOf(run);
    const read = async function* (keyOf: (piece: Piece) => string) {
      for (const piece of pieces) yield [piece.start, await store.get(keyOf(piece))] as const;
    };
    await writeFile(
      target,
      read((piece) => this.#keyOf(piece)),
    );
  }

  #keyOf({ name }: Piece): string {
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
