/**
 * The operations that Sluice needs of an object store. Objects are immutable: a key is written once and then only read, listed and
 * removed. Every failure is a coded error: `store-unreachable` after the retries, `store-refused` for a response that a retry would not
 * change, `store-object-missing` for a missing key.
 */
export interface ObjectStore {
  /** Reads a byte range of an object, or all of it. Fails if the store returns another number of bytes. */
  get(key: string, range?: ByteRange): Promise<Uint8Array>;
  /** Returns undefined for a missing key. */
  head(key: string): Promise<ObjectInfo | undefined>;
  /** Writes an object. The store verifies the checksum of the bytes that it received. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes an object only if the key does not exist. Returns false, and changes nothing, if it does. A retry that finds
   * the bytes of its own earlier attempt returns true.
   */
  create(key: string, bytes: Uint8Array): Promise<boolean>;
  /** Returns the objects whose keys begin with a prefix, in the order of their keys. */
  list(prefix: string): Promise<ObjectInfo[]>;
  /** Does nothing for a missing key. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

/** Half open: `end` is the first byte after the range. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface ObjectInfo {
  readonly key: string;
  readonly byteLength: number;
  /** The time by the clock of the store, in Unix milliseconds. */
  readonly modifiedUnixMs: number;
}
