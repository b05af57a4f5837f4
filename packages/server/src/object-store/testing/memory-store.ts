import { CodedError } from '@sluice/base/errors';
import type { ByteRange, ObjectInfo, ObjectStore } from '../object-store.ts';

/** An object store in memory whose next operations can be made to fail or to return other bytes. */
export class MemoryStore implements ObjectStore {
  readonly objects = new Map<string, { bytes: Uint8Array; modifiedUnixMs: number }>();
  readonly calls: string[] = [];
  unixMs = 1_000_000;
  isDown = false;
  /** Changes the bytes of a response. */
  distort: (key: string, bytes: Uint8Array) => Uint8Array = (_key, bytes) => bytes;
  /** Called before each operation, so that a test can hold it. */
  before: (operation: string, key: string) => Promise<void> | void = () => undefined;

  async get(key: string, range?: ByteRange): Promise<Uint8Array> {
    await this.#call('get', key);
    const { bytes } = this.#find(key);
    const part = range === undefined ? bytes : bytes.subarray(range.start, range.end);
    return this.distort(key, new Uint8Array(part));
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    await this.#call('head', key);
    const found = this.objects.get(key);
    return found === undefined ? undefined : describe(key, found);
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#call('put', key);
    this.objects.set(key, { bytes: new Uint8Array(bytes), modifiedUnixMs: this.unixMs });
  }

  async create(key: string, bytes: Uint8Array): Promise<boolean> {
    await this.#call('create', key);
    if (this.objects.has(key)) return false;
    this.objects.set(key, { bytes: new Uint8Array(bytes), modifiedUnixMs: this.unixMs });
    return true;
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    await this.#call('list', prefix);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => describe(key, this.#find(key)));
  }

  async remove(key: string): Promise<void> {
    await this.#call('remove', key);
    this.objects.delete(key);
  }

  async close(): Promise<void> {}

  async #call(operation: string, key: string): Promise<void> {
    this.calls.push(`${operation} ${key}`);
    await this.before(operation, key);
    if (this.isDown) throw new CodedError('store-unreachable', { operation, reason: 'down' });
  }

  #find(key: string) {
    const found = this.objects.get(key);
    if (found === undefined) throw new CodedError('store-object-missing', { operation: 'get' });
    return found;
  }
}

function describe(
  key: string,
  { bytes, modifiedUnixMs }: { bytes: Uint8Array; modifiedUnixMs: number },
) {
  return { key, byteLength: bytes.length, modifiedUnixMs };
}
