import { isDeepStrictEqual } from 'node:util';
import { CodedError } from '@sluice/base/errors';
import { type Client, type FullBlock, isSluiceError } from '@sluice/client';
import {
  fieldRows,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
} from '@sluice/protocol/field-table';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { BlockRange } from '../engine/segment-run.ts';
import { groupWindows, windowSlots } from '../stream/lookups/digest-files.ts';

/** The first slot at which two datasets differ. */
export interface Difference {
  readonly slot: number;
  /** The hash of the block, or null if the dataset has none in this slot. */
  readonly hashes: readonly [string | null, string | null];
  /** What differs: `block` if only one dataset has a block there, `header`, or the name of a kind of records with their number in both datasets. */
  readonly parts: readonly string[];
}

export interface Comparison {
  /** The slots that both datasets have as final. */
  readonly range: BlockRange;
  /** The number of equal blocks below the first difference. */
  readonly blocks: number;
  readonly difference: Difference | undefined;
}

export interface CompareOptions {
  readonly range: Partial<BlockRange>;
  /** Called with the number of blocks that were found to be equal. */
  readonly onEqual: (blockCount: number) => void;
  readonly signal: AbortSignal;
}

type Pair<Value> = readonly [Value, Value];

/**
 * The slots that are compared at once, so that a difference is found before the digests of the rest are computed. A step ends where a stored
 * sum of digests ends, so that a service reads one file for it.
 */
const stepSlots = groupWindows * windowSlots;

/** Compares the final blocks that two datasets both have, by digests, and finds the first difference by bisection. */
export async function compareDatasets(
  clients: Pair<Client>,
  { range, onEqual, signal }: CompareOptions,
): Promise<Comparison> {
  const { first, last } = await sharedRange(clients, range, signal);
  let blocks = 0;
  for (let from = first, to = -1; from <= last; from = to + 1) {
    to = Math.min(last, from - (from % stepSlots) + stepSlots - 1);
    const [here, there] = await digests(clients, { first: from, last: to }, signal);
    if (here.version !== there.version)
      throw new CodedError('verify-versions-differ', {
        here: here.version,
        there: there.version,
      });
    if (here.digest !== there.digest) {
      const slot = await bisect(clients, { first: from, last: to }, signal);
      const difference = await describeSlot(clients, slot, signal);
      const equal = slot > first ? { first, last: slot - 1 } : undefined;
      const [below] = equal === undefined ? [] : await digests(clients, equal, signal);
      return { range: { first, last }, blocks: below?.blocks ?? 0, difference };
    }
    blocks += here.blocks;
    onEqual(here.blocks);
  }
  return { range: { first, last }, blocks, difference: undefined };
}

/** Returns the range that both datasets have, within the wanted one. */
async function sharedRange(
  [here, there]: Pair<Client>,
  wanted: Partial<BlockRange>,
  signal: AbortSignal,
): Promise<BlockRange> {
  const starts = await Promise.all([here.metadata({ signal }), there.metadata({ signal })]);
  const heads = await Promise.all([
    here.finalizedHead({ signal }),
    there.finalizedHead({ signal }),
  ]);
  const first = Math.max(wanted.first ?? 0, ...starts.map(({ start_block }) => start_block));
  const last = Math.min(wanted.last ?? Infinity, ...heads.map((head) => head?.number ?? -1));
  if (first > last) throw new CodedError('verify-nothing-shared');
  return { first, last };
}

function digests([here, there]: Pair<Client>, { first, last }: BlockRange, signal: AbortSignal) {
  const options = { from: first, to: last, signal };
  return Promise.all([here.digest(options), there.digest(options)]);
}

/** Returns the first slot at which the datasets differ, in a range whose digests are known to differ. */
async function bisect(
  clients: Pair<Client>,
  { first, last }: BlockRange,
  signal: AbortSignal,
): Promise<number> {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [here, there] = await digests(clients, { first: low, last: middle }, signal);
    if (here.digest === there.digest) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function describeSlot(
  [here, there]: Pair<Client>,
  slot: number,
  signal: AbortSignal,
): Promise<Difference> {
  const [a, b] = await Promise.all([blockAt(here, slot, signal), blockAt(there, slot, signal)]);
  const hashes = [a?.header.hash ?? null, b?.header.hash ?? null] as const;
  if (a === null || b === null) return { slot, hashes, parts: ['block'] };
  const parts: string[] = [];
  if (!isSame('block', [a.header], [b.header])) parts.push('header');
  for (const array of RECORD_ARRAY_NAMES) {
    if (isSame(RECORD_ARRAYS[array], a[array], b[array])) continue;
    parts.push(describeArray(array, a[array].length, b[array].length));
  }
  return { slot, hashes, parts };
}

function describeArray(array: RecordArray, here: number, there: number): string {
  return here === there ? `${array} (${here} in both)` : `${array} (${here} here, ${there} there)`;
}

async function blockAt(
  client: Client,
  slot: number,
  signal: AbortSignal,
): Promise<FullBlock | null> {
  try {
    return await client.block(slot, { signal });
  } catch (error) {
    if (isSluiceError(error) && error.code === 'not-stored') return null;
    throw error;
  }
}

/** Returns whether the stored fields of records are equal. The others depend on IDLs and on the time of the request. */
function isSame(kind: Kind, here: readonly unknown[], there: readonly unknown[]): boolean {
  const names = fieldRows(kind).flatMap(([name, { derived }]) => (derived === true ? [] : name));
  const stored = (record: unknown) => names.map((name) => memberOf(record, name));
  return isDeepStrictEqual(here.map(stored), there.map(stored));
}
