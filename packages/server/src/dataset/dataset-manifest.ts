import { CodedError } from '@sluice/base/errors';
import type { Fs } from '../storage/fs.ts';
import type { DatasetDescription, OptionalKind } from './dataset-reader.ts';
import {
  dataFormatVersion,
  type Manifest,
  readVersioned,
  type VersionedManifest,
  writeManifest,
} from './manifest.ts';

/** The manifest of an open dataset. Changes are durable when their promise resolves. */
export class DatasetManifest {
  readonly #folder: string;
  readonly #fs: Fs;
  #content: Manifest;
  #formatVersion: number;

  private constructor(folder: string, fs: Fs, { manifest, formatVersion }: VersionedManifest) {
    this.#folder = folder;
    this.#fs = fs;
    this.#content = manifest;
    this.#formatVersion = formatVersion;
  }

  static async open(folder: string, fs: Fs): Promise<DatasetManifest> {
    return new DatasetManifest(folder, fs, await readVersioned(fs, folder));
  }

  describe(realTime: boolean): DatasetDescription {
    const { name, aliases, votes, metaOptional, genesisHash, from } = this.#content;
    const allowMissing: OptionalKind[] = [...this.#content.allowMissing];
    if (metaOptional) allowMissing.push('meta');
    return { name, aliases, realTime, votes, allowMissing, genesisHash, from };
  }

  /** Whether the files have an older format, which the program can read. */
  get isOlder(): boolean {
    return this.#formatVersion !== dataFormatVersion;
  }

  /** Changes the version to the current one. Older programs refuse the dataset from then on. */
  upgrade(): Promise<void> {
    return this.#write({});
  }

  async adoptGenesis(genesisHash: string): Promise<void> {
    const known = this.#content.genesisHash;
    if (known === genesisHash) return;
    if (known !== null) throw new CodedError('dataset-genesis-differs', { genesisHash, known });
    await this.#write({ genesisHash });
  }

  update(changes: Partial<Pick<Manifest, 'aliases' | 'from'>>): Promise<void> {
    return this.#write(changes);
  }

  async #write(changes: Partial<Manifest>): Promise<void> {
    const content = { ...this.#content, ...changes };
    await writeManifest(this.#fs, this.#folder, content);
    this.#content = content;
    this.#formatVersion = dataFormatVersion;
  }
}
