/**
 * The manifests of a dataset in an object store.
 *
 *   <dataset>/manifests/000000000042.json.gz   the state of the chain at one moment; numbered, never changed
 *   <dataset>/lists/<id>                       lists of segments that manifests refer to
 *   <dataset>/segments/<id>                    the segments that manifests name
 *   <dataset>/indexes/<id>.<number>            indexes over segments, in pieces of 64 MiB
 *   <dataset>/blocks/<hash>                    blocks that are too large for a message of the feed
 *   <dataset>/leases/<reader>                  the age of the oldest state that a reader uses
 *
 * A writer advances the manifest by creating the next number, which the store allows once. The gzip checksum detects
 * damage.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../dataset/state-codec.ts';
import type { ObjectStore } from '../object-store/object-store.ts';

export interface BucketManifest {
  readonly number: number;
  /** The name of the writer: a data folder, or a process of a cluster. */
  readonly writer: string;
  readonly dataset: Manifest;
  /** The payload of a hot block is its index in `feed.blocks`. Without a feed there are no hot blocks. */
  readonly chain: ChainSnapshot;
  readonly feed: FeedPosition | null;
}

export interface FeedPosition {
  /** The number of the manifest at which the numbering of messages started, 0 for the first stream of the dataset. */
  readonly epoch: number;
  /** The last message that is part of the state. */
  readonly sequence: number;
  /** The message that carries each hot block, and the index of the block in the message. */
  readonly blocks: readonly (readonly [sequence: number, index: number])[];
}

/** The newest state, and the number of the newest manifest, which may have an older state. */
export interface LatestManifest {
  readonly manifest: BucketManifest;
  readonly number: number;
}

/**
 * The version of this encoding. It is incremented when older programs cannot read a new manifest. In version 1, the chain had all
 * segments. In version 2, the manifest itself had lists of them.
 */
const formatVersion = 3;
const olderVersions: readonly number[] = [1, 2];
const numberDigits = 12;
/** A writer that was replaced may have created the newest manifests from an older state, so this many are compared. */
const comparedCount = 3;
/** The number of lists that are read at the same time. */
const readCountMax = 16;

interface StoredManifest extends Omit<BucketManifest, 'number'> {
  readonly formatVersion: number;
}

/** The members of a manifest of version 2 that refer to lists. */
interface OlderManifest extends StoredManifest {
  readonly lists: readonly string[];
  /** The number of segments at the start of the first list that are not in the chain. */
  readonly skipped: number;
  /** The number of segments of `chain` that are below those of the lists. The others are above them. */
  readonly frontCount: number;
}

export class ManifestLog {
  readonly #store: ObjectStore;
  readonly #dataset: string;

  constructor(store: ObjectStore, dataset: string) {
    this.#store = store;
    this.#dataset = dataset;
  }

  /** Returns the newest state, or undefined if there is no manifest. */
  async readLatest(): Promise<LatestManifest | undefined> {
    const numbers = await this.listNumbers();
    const number = numbers.at(-1);
    if (number === undefined) return undefined;
    let best: BucketManifest | undefined;
    for (const candidate of numbers.slice(-comparedCount)) {
      const manifest = await this.read(candidate);
      if (best === undefined || isNewer(manifest.feed, best.feed)) best = manifest;
    }
    return best === undefined ? undefined : { manifest: best, number };
  }

  async listNumbers(): Promise<number[]> {
    const objects = await this.#store.list(this.#folder);
    return objects.map(({ key }) => this.numberOf(key));
  }

  async read(number: number): Promise<BucketManifest> {
    const bytes = await this.#store.get(this.keyOf(number));
    const value = parseGzip(bytes, number) as OlderManifest;
    const { formatVersion: version, writer, dataset, feed } = value;
    if (version === formatVersion)
      return { number, writer, dataset, feed, chain: decodeCheckpoint(value.chain) };
    if (!olderVersions.includes(version)) {
      const known = formatVersion;
      throw new CodedError('dataset-version-unknown', { formatVersion: version, known });
    }
    return this.#readOlder(value, number);
  }

  /**
   * Creates the manifest with this number. Throws `store-fenced` if another writer has created it; then nothing that another manifest
   * refers to has changed.
   */
  async create(manifest: BucketManifest): Promise<void> {
    const { number, chain, ...rest } = manifest;
    const head = JSON.stringify({ formatVersion, ...rest });
    const bytes = gzipSync(`${head.slice(0, -1)},"chain":${encodeCheckpoint(chain)}}`);
    if (!(await this.#store.create(this.keyOf(number), bytes))) {
      throw new CodedError('store-fenced', { manifest: number });
    }
  }

  keyOf(number: number): string {
    return `${this.#folder}${String(number).padStart(numberDigits, '0')}.json.gz`;
  }

  numberOf(key: string): number {
    return Number.parseInt(key.slice(this.#folder.length), 10);
  }

  get #folder(): string {
    return `${this.#dataset}/manifests/`;
  }

  /** Returns the state with all segments outside lists. Their lists become unused files, and the writer creates new ones. */
  async #readOlder(stored: OlderManifest, number: number): Promise<BucketManifest> {
    const { writer, dataset, lists = [], skipped = 0, frontCount = 0 } = stored;
    const files = lists.map((name) => `lists/${name}.json.gz`);
    const listed: unknown[] = [];
    for (let i = 0; i < files.length; i += readCountMax) {
      const some = files.slice(i, i + readCountMax);
      const read = await Promise.all(
        some.map((file) => this.#store.get(`${this.#dataset}/${file}`)),
      );
      listed.push(...read.flatMap((bytes) => [parseGzip(bytes, number)].flat()));
    }
    const inline: readonly unknown[] = stored.chain.segments;
    const segments = [
      ...inline.slice(0, frontCount),
      ...listed.slice(skipped),
      ...inline.slice(frontCount),
    ];
    const chain = decodeCheckpoint({ ...stored.chain, segments, unused: files });
    // Messages of version 1 had no epoch.
    const feed = stored.feed === null ? null : { ...stored.feed, epoch: stored.feed.epoch ?? 0 };
    return { number, writer, dataset, feed, chain };
  }
}

function parseGzip(bytes: Uint8Array, manifest: number): unknown {
  try {
    return JSON.parse(gunzipSync(bytes).toString());
  } catch (cause) {
    throw damagedManifest(manifest, cause);
  }
}

function damagedManifest(manifest: number, cause: unknown): CodedError {
  return new CodedError('store-manifest-damaged', { manifest }, { cause });
}

/** Returns whether a later manifest has a newer state. Without a feed only one folder writes, so the later one is newer. */
function isNewer(later: FeedPosition | null, earlier: FeedPosition | null): boolean {
  if (later === null || earlier === null) return true;
  if (later.epoch !== earlier.epoch) return later.epoch > earlier.epoch;
  return later.sequence >= earlier.sequence;
}

/** Returns the state without its hot blocks: the sealed blocks, which are all finalized. */
export function sealedPart(snapshot: ChainSnapshot): ChainSnapshot {
  const last = snapshot.segments.at(-1)?.last ?? null;
  return { ...snapshot, hot: [], head: last, finalized: last };
}
