import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { RangeDigest } from '@sluice/protocol/lookup-results';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { LRUCache } from 'lru-cache';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { DIGEST_ENTRY } from '../../engine/lookup/digest-blocks.ts';
import type { BlockRange } from '../../engine/segment-run.ts';
import { type DigestFiles, groupWindows, windowSlots } from './digest-files.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { STORED_BLOCK } from './selections.ts';
import { oldestParts } from './snapshot-parts.ts';

export interface RangeDigestsDependencies {
  readonly dataset: DatasetReader;
  readonly lookups: SegmentLookups;
  /** Without it, digests are kept in memory only. */
  readonly files?: DigestFiles | undefined;
}

/** The entries of the blocks of some slots, which are part of one window. */
interface KnownEntries {
  readonly slots: BlockRange;
  readonly entries: Uint8Array;
}

/** The sum of entries. */
interface DigestSum {
  blocks: number;
  readonly records: Record<RecordArray, number>;
  digest: bigint;
}

interface DigestRequest {
  /** What the request may still read and has computed. */
  readonly budget: { reads: number; blocks: number };
  readonly snapshot: ChainSnapshot;
  readonly signal: AbortSignal;
}

const digestBits = 256;
/** Windows whose entries are kept in memory: those at the head, and those that a bisection reads. */
const windowCountMax = 64;
/** Windows whose sums are kept in memory, with about 300 bytes each. */
const sumCountMax = 1 << 14;
const groupSlots = groupWindows * windowSlots;
/** A follower that is further behind leaves the windows between to the requests that need them. */
const behindCountMax = 4;
/** After each window, the follower rests this many times as long as the window took. */
const restFactor = 4;

/** Computes digests of ranges of final blocks, and remembers them by windows of slots. A final block does not change, so nothing has to be invalidated. */
export class RangeDigests {
  readonly #dependencies: RangeDigestsDependencies;
  readonly #windows = new LRUCache<number, KnownEntries>({ max: windowCountMax });
  readonly #sums = new Map<number, DigestSum>();

  constructor(dependencies: RangeDigestsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the digest of the final blocks of a range, from its start, within the limits of one request. */
  async digest(
    { first, last }: BlockRange,
    snapshot: ChainSnapshot,
    signal: AbortSignal,
  ): Promise<RangeDigest> {
    const end = Math.min(last, snapshot.finalized?.number ?? -1);
    const sum = emptySum();
    const budget = { reads: LOOKUP_LIMITS.digestReadCountMax, blocks: 0 };
    let next = first;
    while (next <= end && budget.reads > 0 && budget.blocks < LOOKUP_LIMITS.digestBlockCountMax) {
      const isGroup = next % groupSlots === 0 && next + groupSlots - 1 <= end;
      const part = isGroup ? await this.#findGroup(next / groupSlots) : undefined;
      if (part !== undefined) {
        budget.reads--;
        addSum(sum, part);
        next += groupSlots;
        continue;
      }
      const groupEnd = Math.min(end + 1, next - (next % groupSlots) + groupSlots);
      const group = await this.#sumWindows({ next, end, groupEnd }, { budget, snapshot, signal });
      if (isGroup && group.next >= groupEnd) await this.#storeGroup(next / groupSlots, group.sum);
      addSum(sum, group.sum);
      next = group.next;
    }
    return {
      version: 1,
      fromBlock: first,
      toBlock: next - 1,
      isComplete: next > last,
      blocks: sum.blocks,
      records: sum.records,
      digest: sum.digest.toString(16).padStart(digestBits / 4, '0'),
    };
  }

  /** Adds the windows from a slot to the end of its group, within the budget. Returns the next slot. */
  async #sumWindows(
    { next, end, groupEnd }: { next: number; end: number; groupEnd: number },
    { budget, snapshot, signal }: DigestRequest,
  ): Promise<{ next: number; sum: DigestSum }> {
    const sum = emptySum();
    while (
      next < groupEnd &&
      budget.reads > 0 &&
      budget.blocks < LOOKUP_LIMITS.digestBlockCountMax
    ) {
      const window = Math.floor(next / windowSlots);
      const slots = { first: next, last: Math.min(end, lastOf(window)) };
      const isWhole = slots.last - slots.first === windowSlots - 1;
      let part = isWhole ? this.#sums.get(window) : undefined;
      if (part === undefined) {
        budget.reads--;
        const known = (await this.#find(window, slots)) ?? (await this.#skip(slots, end, snapshot));
        if (typeof known === 'number') {
          next = known;
          continue;
        }
        const computed = known ?? (await this.#compute(window, snapshot, signal));
        if (known === undefined) budget.blocks += countOf(computed.entries);
        part = sumOf(computed.entries, slots);
        if (isWhole) this.#remember(window, part);
      }
      addSum(sum, part);
      next = slots.last + 1;
    }
    return { next, sum };
  }

  async #findGroup(group: number): Promise<DigestSum | undefined> {
    const encoded = await this.#dependencies.files?.readGroup(group);
    return encoded === undefined ? undefined : decodeSum(encoded);
  }

  async #storeGroup(group: number, sum: DigestSum): Promise<void> {
    await this.#dependencies.files?.writeGroup(group, encodeSum(sum));
  }

  /** Computes the digests of blocks soon after they become final, so that later requests find them, and removes those of blocks that retention has removed. */
  async follow(clock: Clock, signal: AbortSignal): Promise<void> {
    const { dataset, files } = this.#dependencies;
    let snapshot = dataset.snapshot();
    let window = Math.floor((finalSlot(snapshot) + 1) / windowSlots);
    while (!signal.aborted) {
      const newest = Math.floor((finalSlot(snapshot) + 1) / windowSlots) - 1;
      if (window > newest) {
        const { start, version } = snapshot;
        snapshot = await dataset.changed(version, signal);
        if (start !== null && snapshot.start !== null && snapshot.start > start)
          await files?.removeBelow(snapshot.start);
        continue;
      }
      const startMs = clock.nowMs();
      window = Math.max(window, newest - behindCountMax);
      await this.#prepare(window++, signal);
      await clock.sleep((clock.nowMs() - startMs) * restFactor, signal);
    }
  }

  /** Computes and stores the entries of a window. Ignores failures: a request that needs the window reports them. */
  async #prepare(window: number, signal: AbortSignal): Promise<void> {
    const { snapshot, release } = this.#dependencies.dataset.acquire();
    try {
      await this.#compute(window, snapshot, signal);
    } catch (error) {
      if (!isCodedError(error) && !signal.aborted) throw error;
    } finally {
      release();
    }
  }

  #remember(window: number, sum: DigestSum): void {
    if (this.#sums.size >= sumCountMax) this.#sums.clear();
    this.#sums.set(window, sum);
  }

  /** Returns the entries of some slots of a window from memory or from a file. */
  async #find(window: number, { first, last }: BlockRange): Promise<KnownEntries | undefined> {
    const known = this.#windows.get(window);
    if (known !== undefined && known.slots.first <= first && known.slots.last >= last) return known;
    const entries = await this.#dependencies.files?.read(window);
    if (entries === undefined) return undefined;
    const stored = { slots: { first: window * windowSlots, last: lastOf(window) }, entries };
    this.#windows.set(window, stored);
    return stored;
  }

  /** Returns the next slot that has a block if none of the given slots has one; undefined otherwise. The end counts as the last slot. */
  async #skip(
    slots: BlockRange,
    end: number,
    snapshot: ChainSnapshot,
  ): Promise<number | undefined> {
    const { dataset } = this.#dependencies;
    const limits = { segmentCountMax: 1, byteCountMax: Infinity };
    const range = { first: slots.first, last: end };
    const { parts } = await oldestParts(snapshot, range, limits, dataset.readList);
    const [part] = parts;
    if (part === undefined) return end + 1;
    const headers =
      part.kind === 'hot' ? [part.block.header] : await dataset.readHeaders(part.segment);
    const next = headers.find(({ number }) => number >= slots.first)?.number ?? end + 1;
    return next > slots.last ? Math.min(next, end + 1) : undefined;
  }

  /** Computes the entries of the final blocks of a window, as far as they are not in memory. */
  async #compute(
    window: number,
    snapshot: ChainSnapshot,
    signal: AbortSignal,
  ): Promise<KnownEntries> {
    const { lookups, files } = this.#dependencies;
    const first = Math.max(window * windowSlots, snapshot.start ?? 0);
    const slots = { first, last: Math.min(lastOf(window), finalSlot(snapshot)) };
    const before = this.#windows.get(window);
    const known = before?.slots.first === first ? before : undefined;
    const range = { first: known === undefined ? first : known.slots.last + 1, last: slots.last };
    const limits = { segmentCountMax: windowSlots, byteCountMax: Infinity };
    const { parts } = await oldestParts(snapshot, range, limits, lookups.readList);
    const lookup = { kind: 'digest', selection: STORED_BLOCK, range } as const;
    const found = await lookups.run(parts, lookup, signal);
    const entries = Buffer.concat([known?.entries ?? new Uint8Array(), ...found]);
    const computed = { slots, entries };
    this.#windows.set(window, computed);
    if (slots.last - slots.first === windowSlots - 1) await files?.write(window, entries);
    return computed;
  }
}

function finalSlot({ finalized }: ChainSnapshot): number {
  return finalized?.number ?? -1;
}

function lastOf(window: number): number {
  return (window + 1) * windowSlots - 1;
}

function countOf({ length }: Uint8Array): number {
  return length / DIGEST_ENTRY.length;
}

function emptySum(): DigestSum {
  return { blocks: 0, records: mapKeys(RECORD_ARRAY_NAMES, () => 0), digest: 0n };
}

/** Adds the entries of the blocks in a range of slots. */
function sumOf(entries: Uint8Array, { first, last }: BlockRange): DigestSum {
  const sum = emptySum();
  const bytes = Buffer.from(entries.buffer, entries.byteOffset, entries.byteLength);
  for (let at = 0; at < bytes.length; at += DIGEST_ENTRY.length) {
    const slot = Number(bytes.readBigUInt64LE(at));
    if (slot < first || slot > last) continue;
    sum.blocks++;
    for (const [i, array] of RECORD_ARRAY_NAMES.entries())
      sum.records[array] += bytes.readUInt32LE(at + DIGEST_ENTRY.counts + 4 * i);
    sum.digest += BigInt(
      `0x${bytes.toString('hex', at + DIGEST_ENTRY.digest, at + DIGEST_ENTRY.length)}`,
    );
  }
  sum.digest = BigInt.asUintN(digestBits, sum.digest);
  return sum;
}

function addSum(sum: DigestSum, more: DigestSum): void {
  sum.blocks += more.blocks;
  for (const array of RECORD_ARRAY_NAMES) sum.records[array] += more.records[array];
  sum.digest = BigInt.asUintN(digestBits, sum.digest + more.digest);
}

/** A sum as JSON. Its file has a checksum, so only our own text is decoded. */
function encodeSum({ blocks, records, digest }: DigestSum): Uint8Array {
  return Buffer.from(JSON.stringify({ blocks, records, digest: digest.toString(16) }));
}

function decodeSum(encoded: Uint8Array): DigestSum {
  const { blocks, records, digest } = JSON.parse(Buffer.from(encoded).toString());
  return { blocks, records, digest: BigInt(`0x${digest}`) };
}
