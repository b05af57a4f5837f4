/**
 * The manifests of a dataset in an object store.
 *
 *   <dataset>/manifests/000000000042.json.gz   the state of the chain at one moment; numbered, never changed
 *   <dataset>/lists/<slots>-<checksum>.json.gz descriptions of old segments, which many manifests name
 *   <dataset>/segments/<id>                    the segments that manifests name
 *   <dataset>/blocks/<hash>                    blocks that are too large for a message of the feed
 *   <dataset>/leases/<reader>                  the age of the oldest state that a reader uses
 *
 * A writer advances the manifest by creating the next number, which the store allows once. The gzip checksum detects
 * damage.
 */
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import type { Manifest } from '../dataset/manifest.ts';
import {
  decodeCheckpoint,
  decodeSegments,
  encodeCheckpoint,
  encodeSegments,
} from '../dataset/state-codec.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import { type NamedList, planLists } from './segment-lists.ts';

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

/** The keys that a manifest refers to, and the last sealed slot of its state. */
export interface NeededKeys {
  readonly keys: readonly string[];
  readonly sealedSlot: number;
}

/** The version of this encoding. It is incremented when older programs cannot read a new manifest. Version 1 had no lists. */
const formatVersion = 2;
const numberDigits = 12;
/** A writer that was replaced may have created the newest manifests from an older state, so this many are compared. */
const comparedCount = 3;
/** The number of lists that are read at the same time. */
const readCountMax = 16;

interface StoredManifest extends Omit<BucketManifest, 'number'> {
  readonly formatVersion: number;
  readonly lists: readonly string[];
  /** The number of segments at the start of the first list that retention has removed from the chain. */
  readonly skipped: number;
  /** The number of segments of `chain` that are below those of the lists. The others are above them. */
  readonly frontCount: number;
}

export class ManifestLog {
  readonly #store: ObjectStore;
  readonly #dataset: string;
  /** Lists that were read or written, by name. */
  readonly #read = new Map<string, readonly SealedSegment[]>();
  /** The lists of the newest manifest. */
  #lists: readonly NamedList[] = [];

  constructor(store: ObjectStore, dataset: string) {
    this.#store = store;
    this.#dataset = dataset;
  }

  /** Returns the newest state, or undefined if there is no manifest. */
  async readLatest(): Promise<LatestManifest | undefined> {
    const numbers = await this.listNumbers();
    const number = numbers.at(-1);
    if (number === undefined) return undefined;
    let best: { manifest: BucketManifest; lists: readonly NamedList[] } | undefined;
    for (const candidate of numbers.slice(-comparedCount)) {
      const stored = await this.#readStored(candidate);
      const opened = await this.#expand(stored, candidate);
      if (best === undefined || isNewer(opened.manifest.feed, best.manifest.feed)) best = opened;
    }
    if (best === undefined) return undefined;
    this.#lists = best.lists;
    return { manifest: best.manifest, number };
  }

  async listNumbers(): Promise<number[]> {
    const objects = await this.#store.list(this.#folder);
    return objects.map(({ key }) => this.numberOf(key));
  }

  async read(number: number): Promise<BucketManifest> {
    return (await this.#expand(await this.#readStored(number), number)).manifest;
  }

  /** Returns the keys that a manifest refers to. */
  async readNeeded(number: number): Promise<NeededKeys> {
    const stored = await this.#readStored(number);
    const { manifest } = await this.#expand(stored, number);
    const { segments } = manifest.chain;
    const keys = [
      ...segments.map(({ id }) => `${this.#dataset}/segments/${id}`),
      ...stored.lists.map((name) => this.#listKey(name)),
    ];
    return { keys, sealedSlot: segments.at(-1)?.last.number ?? -1 };
  }

  /**
   * Creates the manifest with this number. Throws `store-fenced` if another writer has created it; then nothing that another manifest
   * refers to has changed.
   */
  async create(manifest: BucketManifest): Promise<void> {
    const { number, chain, ...rest } = manifest;
    const plan = planLists(chain.segments, this.#lists);
    const lists: NamedList[] = [];
    for (const list of plan.lists) lists.push('ids' in list ? list : await this.#writeList(list));
    const head = JSON.stringify({
      formatVersion,
      ...rest,
      lists: lists.map(({ name }) => name),
      skipped: plan.skipped,
      frontCount: plan.front.length,
    });
    const checkpoint = encodeCheckpoint({ ...chain, segments: [...plan.front, ...plan.back] });
    const bytes = gzipSync(`${head.slice(0, -1)},"chain":${checkpoint}}`);
    if (!(await this.#store.create(this.keyOf(number), bytes))) {
      throw new CodedError('store-fenced', { manifest: number });
    }
    this.#adopt(lists);
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

  #listKey(name: string): string {
    return `${this.#dataset}/lists/${name}.json.gz`;
  }

  #adopt(lists: readonly NamedList[]): void {
    this.#lists = lists;
    const names = new Set(lists.map(({ name }) => name));
    for (const name of this.#read.keys()) if (!names.has(name)) this.#read.delete(name);
  }

  async #writeList(segments: readonly SealedSegment[]): Promise<NamedList> {
    const bytes = gzipSync(encodeSegments(segments));
    const [first, last] = [segments[0]?.first.number, segments.at(-1)?.last.number];
    const name = `${first}-${last}-${crc32(bytes).toString(16).padStart(8, '0')}`;
    await this.#store.put(this.#listKey(name), bytes);
    this.#read.set(name, segments);
    return { name, ids: segments.map(({ id }) => id) };
  }

  async #readList(name: string, number: number): Promise<readonly SealedSegment[]> {
    const known = this.#read.get(name);
    if (known !== undefined) return known;
    const bytes = await this.#store.get(this.#listKey(name));
    const segments = decodeSegments(parseGzip(bytes, number));
    this.#read.set(name, segments);
    return segments;
  }

  async #readStored(number: number): Promise<StoredManifest> {
    const bytes = await this.#store.get(this.keyOf(number));
    const value = parseGzip(bytes, number) as StoredManifest;
    const { formatVersion: found } = value;
    if (found !== formatVersion && found !== 1) {
      throw new CodedError('dataset-version-unknown', {
        formatVersion: found,
        known: formatVersion,
      });
    }
    if (found === formatVersion) return value;
    const feed = value.feed === null ? null : { ...value.feed, epoch: 0 };
    return { ...value, feed, lists: [], skipped: 0, frontCount: 0 };
  }

  async #expand(
    stored: StoredManifest,
    number: number,
  ): Promise<{ manifest: BucketManifest; lists: readonly NamedList[] }> {
    const { writer, dataset, feed, frontCount } = stored;
    const read: (readonly SealedSegment[])[] = [];
    for (let i = 0; i < stored.lists.length; i += readCountMax) {
      const names = stored.lists.slice(i, i + readCountMax);
      read.push(...(await Promise.all(names.map((name) => this.#readList(name, number)))));
    }
    const inline = decodeSegments(stored.chain.segments);
    const listed = read.flat().slice(stored.skipped);
    const segments = [...inline.slice(0, frontCount), ...listed, ...inline.slice(frontCount)];
    const chain = decodeCheckpoint({ ...stored.chain, segments });
    const lists = stored.lists.map((name, i) => {
      return { name, ids: (read[i] ?? []).map(({ id }) => id) };
    });
    return { manifest: { number, writer, dataset, feed, chain }, lists };
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
