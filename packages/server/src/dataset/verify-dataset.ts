/**
 * Whether a dataset is whole, from its files alone: the manifest, the journal, every unit of every segment against its
 * checksum, and every block against the one below it. Only reads. A writer may be at work: what it lets go meanwhile is
 * no damage.
 */
import { crc32 } from 'node:zlib';
import { CodedError, isCodedError } from '../base/errors.ts';
import type { ChainSnapshot, HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { checkLink, type ParentPoint } from '../chain/link-block.ts';
import type { BlockHeader } from '../ledger/block.ts';
import { openSegment } from '../segment/open-segment.ts';
import { verifySegment } from '../segment/verify-segment.ts';
import { type Fs, readWholeFile } from '../storage/fs.ts';
import { manifestName, readManifest } from './manifest.ts';
import { describeSegment } from './segment-store.ts';
import { readStoredDataset, type StoredDataset } from './stored-dataset.ts';

export interface Damage {
  /** The file, as seen from the dataset's folder. */
  readonly file: string;
  readonly error: CodedError;
}

export interface VerifyOptions {
  readonly folder: string;
  /** Called after each segment and hot block, with how many blocks and bytes it has. */
  readonly onPart?: (blockCount: number, byteLength: number) => void;
}

export async function verifyDataset(
  options: VerifyOptions,
  fs: Fs,
  signal: AbortSignal,
): Promise<Damage[]> {
  const { folder } = options;
  let file = manifestName;
  try {
    await readManifest(fs, folder);
    file = 'journal';
    const stored = await readStoredDataset(folder, fs);
    return await new Verification(options, fs, stored).run(signal);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return [{ file, error }];
  }
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #fs: Fs;
  readonly #stored: StoredDataset;
  readonly #damages: Damage[] = [];
  #parent: ParentPoint;

  constructor(options: VerifyOptions, fs: Fs, stored: StoredDataset) {
    this.#options = options;
    this.#fs = fs;
    this.#stored = stored;
    const { anchor } = stored.snapshot;
    this.#parent = anchor === null ? null : { ...anchor, height: null };
  }

  async run(signal: AbortSignal): Promise<Damage[]> {
    const { segments, hot } = this.#stored.snapshot;
    for (const segment of segments) {
      if (signal.aborted) break;
      await this.#checkPart(`segments/${segment.id}`, isNamed(segment), () =>
        this.#checkSegment(segment),
      );
      this.#parent = { ...segment.last, height: segment.lastHeight };
      this.#options.onPart?.(segment.blockCount, segment.byteLength);
    }
    for (const block of hot) {
      if (signal.aborted) break;
      await this.#checkPart(`journal, slot ${block.header.number}`, isHot(block), () =>
        this.#checkHot(block),
      );
      this.#parent = block.header;
    }
    return this.#damages;
  }

  async #checkPart(
    file: string,
    isIn: (snapshot: ChainSnapshot) => boolean,
    check: () => Promise<CodedError[]>,
  ): Promise<void> {
    let errors: CodedError[];
    try {
      errors = await check();
    } catch (error) {
      if (!isCodedError(error)) throw error;
      errors = [error];
    }
    if (errors.length === 0) return;
    // Sealed or let go since the journal was read: then nobody needs it any more.
    if (!isIn(await this.#readAgain())) return;
    for (const error of errors) this.#damages.push({ file, error });
  }

  /** What is damaged in the journal meanwhile must not hide what was found before. */
  async #readAgain(): Promise<ChainSnapshot> {
    try {
      return (await readStoredDataset(this.#options.folder, this.#fs)).snapshot;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return this.#stored.snapshot;
    }
  }

  async #checkSegment(segment: SealedSegment): Promise<CodedError[]> {
    const bytes = await readWholeFile(this.#fs, `${this.#options.folder}/segments/${segment.id}`);
    const opened = openSegment(bytes);
    const faults = verifySegment(opened);
    if (faults.length > 0) return faults;
    this.#checkLinks(opened.headers);
    const { byteLength } = bytes;
    const isIt =
      describeSegment({ byteLength, checksum: crc32(bytes) }, opened.headers).id === segment.id;
    return isIt ? [] : [wholeFault('it is not what its name says')];
  }

  async #checkHot(block: HotBlock): Promise<CodedError[]> {
    const bytes = await this.#stored.readHotBlock(block);
    this.#options.onPart?.(1, bytes.byteLength);
    const opened = openSegment(bytes);
    const faults = verifySegment(opened);
    if (faults.length > 0) return faults;
    this.#checkLinks(opened.headers);
    const isIt = opened.blockCount === 1 && opened.headers[0]?.hash === block.header.hash;
    return isIt ? [] : [wholeFault('it is another block than the journal says')];
  }

  #checkLinks(headers: readonly BlockHeader[]): void {
    let parent = this.#parent;
    for (const header of headers) {
      checkLink(parent, header);
      parent = header;
    }
  }
}

function isNamed({ id }: SealedSegment): (snapshot: ChainSnapshot) => boolean {
  return ({ segments }) => segments.some((segment) => segment.id === id);
}

function isHot({ payload }: HotBlock): (snapshot: ChainSnapshot) => boolean {
  return ({ hot }) => hot.some((block) => block.payload === payload);
}

function wholeFault(reason: string): CodedError {
  return new CodedError('segment-damaged', { unit: 'the whole', reason });
}
