/**
 * The manifests of a dataset in an object store.
 *
 *   <dataset>/manifests/000000000042.json.gz   the state of the chain at one moment; numbered, never changed
 *   <dataset>/segments/<id>                    the segments that manifests name
 *   <dataset>/blocks/<hash>                    blocks that are too large for a message of the feed
 *   <dataset>/leases/<reader>                  what readers still use
 *
 * A writer advances the manifest by creating the next number, which the store allows once. The gzip checksum detects
 * damage.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import { CodedError } from '../base/errors.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../dataset/state-codec.ts';
import type { ObjectStore } from '../object-store/object-store.ts';

export interface BucketManifest {
  readonly number: number;
  /** Who wrote it: a data folder, or a process of a cluster. */
  readonly writer: string;
  readonly dataset: Manifest;
  /** The payload of a hot block is its place in `feed.blocks`. Without a feed there are no hot blocks. */
  readonly chain: ChainSnapshot;
  readonly feed: FeedPosition | null;
}

export interface FeedPosition {
  /** The last message that is part of the state. */
  readonly sequence: number;
  /** The message that carries each hot block, and its place in the message. */
  readonly blocks: readonly (readonly [sequence: number, place: number])[];
}

/** The version of this encoding. It grows when an older program could not read a manifest. */
const formatVersion = 1;
const numberDigits = 12;

export class ManifestLog {
  readonly #store: ObjectStore;
  readonly #folder: string;

  constructor(store: ObjectStore, dataset: string) {
    this.#store = store;
    this.#folder = `${dataset}/manifests/`;
  }

  /** Returns the manifest with the highest number, or undefined if there is none. */
  async readLatest(): Promise<BucketManifest | undefined> {
    const numbers = await this.listNumbers();
    const last = numbers.at(-1);
    return last === undefined ? undefined : this.read(last);
  }

  async listNumbers(): Promise<number[]> {
    const objects = await this.#store.list(this.#folder);
    return objects.map(({ key }) => Number.parseInt(key.slice(this.#folder.length), 10));
  }

  async read(number: number): Promise<BucketManifest> {
    return decodeManifest(await this.#store.get(this.keyOf(number)), number);
  }

  /**
   * Creates the manifest with this number. Throws `store-fenced`, and changes nothing, if another writer has created
   * it.
   */
  async create(manifest: BucketManifest): Promise<void> {
    const key = this.keyOf(manifest.number);
    if (await this.#store.create(key, encodeManifest(manifest))) return;
    throw new CodedError('store-fenced', { manifest: manifest.number });
  }

  remove(number: number): Promise<void> {
    return this.#store.remove(this.keyOf(number));
  }

  keyOf(number: number): string {
    return `${this.#folder}${String(number).padStart(numberDigits, '0')}.json.gz`;
  }
}

function encodeManifest({ chain, ...rest }: BucketManifest): Uint8Array {
  const head = JSON.stringify({ formatVersion, ...rest });
  return gzipSync(`${head.slice(0, -1)},"chain":${encodeCheckpoint(chain)}}`);
}

function decodeManifest(bytes: Uint8Array, number: number): BucketManifest {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(gunzipSync(bytes).toString()) as Record<string, unknown>;
  } catch (cause) {
    throw damagedManifest(number, cause);
  }
  if (value['formatVersion'] !== formatVersion) {
    const found = Number(value['formatVersion']);
    throw new CodedError('dataset-version-unknown', { formatVersion: found, known: formatVersion });
  }
  const { dataset, writer, feed } = value as unknown as BucketManifest;
  return { number, writer, dataset, feed, chain: decodeCheckpoint(value['chain']) };
}

function damagedManifest(manifest: number, cause: unknown): CodedError {
  return new CodedError('store-manifest-damaged', { manifest }, { cause });
}

/** Returns the state without its hot blocks: the sealed blocks, which are all finalized. */
export function sealedPart(snapshot: ChainSnapshot): ChainSnapshot {
  const last = snapshot.segments.at(-1)?.last ?? null;
  return { ...snapshot, hot: [], head: last, finalized: last };
}
