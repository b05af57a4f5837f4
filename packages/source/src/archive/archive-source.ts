/**
 * An archive as a source of history: a folder or an HTTP server with the files `epoch-N.car` and, for each, `epoch-N-slot-ranges.raw`, which
 * has the position of every block. Only the ranges of needed blocks are read, those of neighbouring slots together.
 */

import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { normalizeDefaults } from '../normalize/normalize-options.ts';
import { refusal, type SourceResult } from '../refusal.ts';
import type { Commitment, Source, SourceIdentity } from '../source.ts';
import { type ArchiveFiles, openArchiveFiles } from './archive-files.ts';
import {
  type ByteRange,
  EpochIndex,
  epochSlots,
  groupSlots,
  indexBytesMax,
  indexName,
} from './epoch-index.ts';
import { parentHashBytes, readArchiveHeader } from './read-archive-block.ts';

export interface ArchiveSourceOptions {
  readonly kind: 'archive';
  readonly name: string;
  /** A folder, or an address that starts with http:// or https://. */
  readonly location: string;
}

/** The largest range that is read at once. Larger groups are read block by block. */
const groupBytesMax = 64 * 1024 * 1024;
/** More than the blocks that are loaded at the same time belong to. */
const groupCountMax = 4;
const indexCountMax = 2;

export class ArchiveSource implements Source {
  readonly name: string;
  readonly format = 'archive';
  readonly isRateLimited = false;
  readonly #files: ArchiveFiles;
  readonly #indexes = new Map<number, Promise<SourceResult<EpochIndex>>>();
  /** The bytes of groups of slots, newest last. */
  readonly #groups = new Map<number, Promise<SourceResult<Uint8Array>>>();
  #lowest: Slot | undefined;

  constructor({ name, location }: ArchiveSourceOptions, files = openArchiveFiles(location)) {
    this.name = name;
    this.#files = files;
  }

  /** An archive does not say which ledger it is of. The links of its blocks do. */
  identity(): Promise<SourceResult<SourceIdentity>> {
    return Promise.resolve({ kind: 'ok', value: { genesisHash: null, content: null } });
  }

  slot(): Promise<SourceResult<Slot>> {
    return Promise.resolve(refusal('incapable', 'an archive has no newest slot'));
  }

  /** Returns the lowest slot of the indexes that were read so far. */
  firstAvailable(): Promise<SourceResult<Slot>> {
    if (this.#lowest === undefined) {
      return Promise.resolve(refusal('incapable', 'no index of the archive was read'));
    }
    return Promise.resolve({ kind: 'ok', value: this.#lowest });
  }

  async listSlots(
    { first, last }: { readonly first: number; readonly last: number },
    _commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<Slot[]>> {
    const slots: Slot[] = [];
    for (let epoch = epochOf(last); epoch >= epochOf(first); epoch--) {
      const index = await this.#index(epoch, signal);
      if (index.kind === 'refused') {
        // Older epochs may be missing, as on a node that has removed them.
        if (slots.length > 0 && index.reason === 'pruned') break;
        return index;
      }
      const range = { first: Math.max(first, epoch * epochSlots), last };
      slots.unshift(...index.value.list(range));
    }
    return { kind: 'ok', value: slots };
  }

  async header(
    slot: Slot,
    _commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader>> {
    const block = await this.block(slot, 'finalized', { signal });
    if (block.kind === 'refused') return block;
    try {
      return { kind: 'ok', value: readArchiveHeader(slot, block.value) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return refusal('malformed', error.message);
    }
  }

  /** Returns the sections of a block. The hash of its parent is unknown until the parent is read. */
  async block(
    slot: Slot,
    _commitment: Commitment,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<SourceResult<Uint8Array>> {
    const epoch = epochOf(slot);
    const index = await this.#index(epoch, signal);
    if (index.kind === 'refused') return index;
    const range = index.value.rangeOf(slot);
    if (range === undefined) return refusal('skipped-hint', `epoch ${epoch} has no block here`);
    if (range.length > normalizeDefaults.bytesMax) {
      return refusal('malformed', `a block of ${range.length} bytes`);
    }
    const group = index.value.groupOf(slot);
    const isGrouped = group.length <= groupBytesMax;
    const read = isGrouped
      ? await this.#readGroup(slot, epoch, group, signal)
      : await this.#files.read(carName(epoch), range, signal);
    if (read.kind === 'refused') return read;
    const at = isGrouped ? range.offset - group.offset : 0;
    const bytes = new Uint8Array(parentHashBytes + range.length);
    bytes.set(read.value.subarray(at, at + range.length), parentHashBytes);
    return { kind: 'ok', value: bytes };
  }

  /** Reads the blocks of neighbouring slots with one request, which all of them wait for. */
  #readGroup(
    slot: Slot,
    epoch: number,
    range: ByteRange,
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>> {
    const key = Math.floor(slot / groupSlots);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const reading = this.#files.read(carName(epoch), range, signal);
    remember(this.#groups, key, reading, groupCountMax);
    return reading;
  }

  #index(epoch: number, signal: AbortSignal): Promise<SourceResult<EpochIndex>> {
    const known = this.#indexes.get(epoch);
    if (known !== undefined) return known;
    const reading = this.#readIndex(epoch, signal);
    remember(this.#indexes, epoch, reading, indexCountMax);
    return reading;
  }

  async #readIndex(epoch: number, signal: AbortSignal): Promise<SourceResult<EpochIndex>> {
    const name = indexName(epoch);
    const read = await this.#files.readAll(name, indexBytesMax, signal);
    if (read.kind === 'refused') return read;
    const index = EpochIndex.read(epoch, read.value);
    if (index === undefined) return refusal('malformed', `${name} has ${read.value.length} bytes`);
    const [first] = index.list({ first: 0, last: Number.POSITIVE_INFINITY });
    if (first !== undefined && (this.#lowest === undefined || first < this.#lowest)) {
      this.#lowest = first;
    }
    return { kind: 'ok', value: index };
  }

  giveBack(): void {
    // The bytes of a block are a copy, which is transferred to another thread.
  }

  close(): Promise<void> {
    this.#groups.clear();
    this.#indexes.clear();
    return Promise.resolve();
  }
}

function epochOf(slot: number): number {
  return Math.floor(slot / epochSlots);
}

function carName(epoch: number): string {
  return `epoch-${epoch}.car`;
}

/** Keeps a result for others, unless it is a refusal, and forgets the oldest ones. */
function remember<Value>(
  kept: Map<number, Promise<SourceResult<Value>>>,
  key: number,
  result: Promise<SourceResult<Value>>,
  countMax: number,
): void {
  kept.set(key, result);
  const forget = () => {
    if (kept.get(key) === result) kept.delete(key);
  };
  result.then(({ kind }) => {
    if (kind === 'refused') forget();
  }, forget);
  for (const oldest of kept.keys()) {
    if (kept.size <= countMax) break;
    kept.delete(oldest);
  }
}
