/**
 * The sets of addresses of a service. Each is a file of the data folder, `_sets/NAME`: its keys, and their SHA-256. No dataset can have the
 * name of this folder.
 */
import { CodedError, isCodedError } from '@sluice/base/errors';
import { runInTimeSlices } from '@sluice/base/time-slices';
import { messageOf } from '@sluice/protocol/unknown-value';
import type { Logger } from 'pino';
import type { AdminSets, SetDescription } from '../http/admin-sets.ts';
import {
  type AddressSet,
  type AddressSets,
  buildSet,
  digestKeys,
  keyBytes,
  readKeysSteps,
  SetKeys,
  setNamePattern,
  sortKeysSteps,
} from '../query/address-set.ts';
import { type Fs, readWholeFile, removeIfExists, writeFileAtomically } from '../storage/fs.ts';

const setsFolder = '_sets';

/** The most sets, and their memory with the replaced versions: four sets of the largest size. */
const setCountMax = 100;
const setBytesMax = 4 * (34 << 20);

const digestBytes = 32;

export interface SetStoreDependencies {
  readonly fs: Fs;
  readonly log: Logger;
}

export class SetStore implements AddressSets, AdminSets {
  readonly #folder: string;
  readonly #fs: Fs;
  readonly #sets = new Map<string, AddressSet>();
  /** The version of each set before the current one, so that a stream can be continued with it until the process ends. */
  readonly #replaced = new Map<string, AddressSet>();
  /** Changes are made one after another, so that the file and the memory have the same version. */
  #changes: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, fs: Fs) {
    this.#folder = folder;
    this.#fs = fs;
  }

  /** Reads the sets of a data folder. One that cannot be read is logged and left out, and queries that refer to it are refused. */
  static async open(data: string, { fs, log }: SetStoreDependencies): Promise<SetStore> {
    const store = new SetStore(`${data}/${setsFolder}`, fs);
    const names = await fs.list(store.#folder).catch((error: unknown) => {
      if (isCodedError(error, 'storage-missing')) return [];
      throw error;
    });
    for (const name of names.filter((each) => setNamePattern.test(each))) {
      const keys = await store.#readKeys(name).catch(messageOf);
      if (typeof keys !== 'string') store.#sets.set(name, buildSet(name, keys));
      else log.error({ set: name }, `the set of addresses cannot be read: ${keys}`);
    }
    return store;
  }

  get names(): readonly string[] {
    return [...this.#sets.keys()].sort();
  }

  find(name: string, version?: string): AddressSet | undefined {
    const current = this.#sets.get(name);
    if (version === undefined || current?.version === version) return current;
    const replaced = this.#replaced.get(name);
    return replaced?.version === version ? replaced : undefined;
  }

  list(): readonly SetDescription[] {
    return this.names.flatMap((name) => {
      const set = this.#sets.get(name);
      return set === undefined ? [] : [describe(set)];
    });
  }

  async put(name: string, text: Buffer): Promise<SetDescription> {
    const keys = await runInTimeSlices(readKeysSteps(text));
    // Queries would silently select nothing.
    if (keys.length === 0) throw new CodedError('set-empty', { name });
    const set = buildSet(name, await runInTimeSlices(sortKeysSteps(keys)));
    return this.#change(async () => {
      const before = this.#sets.get(name);
      if (before?.version === set.version) return describe(before);
      this.#checkLimits(set);
      await this.#fs.makeFolder(this.#folder);
      const { bytes } = new SetKeys(set);
      const digest = Buffer.from(digestKeys(bytes), 'hex');
      await writeFileAtomically(this.#fs, this.#folder, name, [bytes, digest]);
      if (before !== undefined) this.#replaced.set(name, before);
      this.#sets.set(name, set);
      return describe(set);
    });
  }

  async remove(name: string): Promise<boolean> {
    return this.#change(async () => {
      if (!this.#sets.has(name)) return false;
      await removeIfExists(this.#fs, `${this.#folder}/${name}`);
      await this.#fs.syncFolder(this.#folder);
      this.#replaced.delete(name);
      return this.#sets.delete(name);
    });
  }

  #change<Result>(change: () => Promise<Result>): Promise<Result> {
    const changed = this.#changes.then(change);
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  /** The replaced version that the new set displaces is not counted. Other replaced versions are given up if memory is short. */
  #checkLimits(set: AddressSet): void {
    if (!this.#sets.has(set.name) && this.#sets.size >= setCountMax)
      throw new CodedError('set-too-large', { allowed: `${setCountMax} sets` });
    this.#replaced.delete(set.name);
    if (this.#bytes + set.memory.byteLength > setBytesMax) this.#replaced.clear();
    if (this.#bytes + set.memory.byteLength > setBytesMax)
      throw new CodedError('set-too-large', { allowed: `${setBytesMax} bytes for all sets` });
  }

  get #bytes(): number {
    const all = [...this.#sets.values(), ...this.#replaced.values()];
    return all.reduce((sum, { memory }) => sum + memory.byteLength, 0);
  }

  /** Returns the keys of a file, or what is wrong with it. */
  async #readKeys(name: string): Promise<Uint8Array | string> {
    const bytes = await readWholeFile(this.#fs, `${this.#folder}/${name}`);
    const keys = bytes.subarray(0, Math.max(0, bytes.length - digestBytes));
    const digest = Buffer.from(bytes.subarray(keys.length)).toString('hex');
    const isSound = keys.length % keyBytes === 0 && digest === digestKeys(keys);
    return isSound ? keys : 'its checksum does not match';
  }
}

function describe({ name, version, count, memory }: AddressSet): SetDescription {
  return { name, version, addresses: count, bytes: memory.byteLength };
}
