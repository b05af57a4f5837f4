/** Finds out from the indexes over segments which of them a query or lookup needs, without opening a segment. */
import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import { runInTimeSlices } from '@sluice/base/time-slices';
import { TARGET_PROGRAM } from '@sluice/kernels/layout/selection';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { FilterName } from '@sluice/protocol/request-table';
import type { ChainSnapshot, IndexRun } from '../chain/chain-snapshot.ts';
import type { MayHave } from '../chain/segment-lists.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IndexKey, SlotRanges } from '../dataset/history/index-reader.ts';
import { filterTest } from '../engine/filter-table.ts';
import { type AddressSet, SetKeys } from '../query/address-set.ts';
import type { Item, Selection } from '../query/query.ts';
import { prefixLengths } from '../segment/history/collect-keys.ts';
import { hashAddress, hashPrefix, sortHashesSteps } from '../segment/history/key-hash.ts';

/** A block can match only if the segment has one key of each list. A key is given by its hash; a set stands for its addresses. */
export type KeyCondition = readonly (readonly (number | AddressSet)[])[];

/** A list of more keys is not looked up, because each costs a read of every index. */
const keyCountMax = 128;

/** Returns the condition of each item of a query, or undefined if a block can match without any key. */
export function conditionsOf(selection: Selection): readonly KeyCondition[] | undefined {
  if (selection.includeAllBlocks) return undefined;
  const conditions: KeyCondition[] = [];
  for (const array of RECORD_ARRAY_NAMES) {
    for (const item of selection[array]) {
      const condition = conditionOf(array, item);
      if (condition.length === 0) return undefined;
      conditions.push(condition);
    }
  }
  return conditions.length === 0 ? undefined : conditions;
}

function conditionOf<A extends RecordArray>(array: A, { filters }: Item<A>): KeyCondition {
  const lists: (number | AddressSet)[][] = [];
  const data: Uint8Array[][] = [];
  let programs: Uint8Array[] | undefined;
  for (const [name, value] of Object.entries<unknown>(filters)) {
    if (!Array.isArray(value)) continue;
    const test = filterTest(array, name as FilterName<A>);
    if (test.by === 'logKind' || test.by === 'outcome') continue;
    if (test.by === 'data') {
      data.push(value.map((hex: string) => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'))));
      continue;
    }
    const sets = value.filter((each) => typeof each !== 'string');
    const addresses = value.filter((each) => typeof each === 'string').map(toBytes);
    const isProgram = test.by === 'target' && test.target === TARGET_PROGRAM;
    if (isProgram && sets.length === 0) programs = addresses;
    lists.push([...addresses.map(hashAddress), ...sets]);
  }
  for (const values of programs === undefined ? [] : data) {
    const keysOf = (program: Uint8Array) => values.flatMap((each) => prefixKeys(program, each));
    lists.push((programs ?? []).flatMap(keysOf));
  }
  return lists.filter((keys) => keys.length <= keyCountMax);
}

function toBytes(text: string): Uint8Array {
  const bytes = decodeBase58(text);
  assert(bytes !== undefined, 'the parser has checked the addresses of a query');
  return bytes;
}

/**
 * Returns the keys of which a segment has one if an instruction of the program can begin with these bytes. The class of such an instruction
 * has the same first bytes, or is a shorter prefix of them.
 */
function prefixKeys(program: Uint8Array, value: Uint8Array): number[] {
  const length = prefixLengths.findLast((known) => known <= value.length) ?? 0;
  const keys = Array.from({ length }, (_, i) => hashPrefix('class', program, value.subarray(0, i)));
  const kind = length === 0 ? 'class' : 'prefix';
  return [...keys, hashPrefix(kind, program, value.subarray(0, length))];
}

/**
 * Returns the function that says whether a segment, or a list of segments, can satisfy one of the conditions. Segments without an index
 * can. Undefined if there are no indexes.
 */
export async function openHistoryFilter(
  conditions: readonly KeyCondition[],
  { indexes }: ChainSnapshot,
  { findSlots }: Pick<DatasetReader, 'findSlots'>,
): Promise<MayHave | undefined> {
  if (findSlots === undefined || indexes.length === 0) return undefined;
  const find = async (run: IndexRun): Promise<Candidates> => ({
    run,
    ranges: await findRanges(conditions, (key) => findSlots(run, key)),
  });
  const found = await Promise.all(indexes.map(find));
  return ({ first, last }) => canHave(found, first.number, last.number);
}

const knownHashes = new WeakMap<SharedArrayBuffer, Promise<Float64Array>>();

/** Returns the hashes of the addresses of a set. They are computed once, in time slices. The hash of a single key stays. */
async function hashSet(set: number | AddressSet): Promise<IndexKey> {
  if (typeof set === 'number') return set;
  let hashes = knownHashes.get(set.memory);
  if (hashes === undefined) {
    hashes = runInTimeSlices(sortHashesSteps(new SetKeys(set)));
    knownHashes.set(set.memory, hashes);
  }
  return { version: set.version, hashes: await hashes };
}

interface Candidates {
  readonly run: IndexRun;
  readonly ranges: SlotRanges;
}

/** Returns the slots that satisfy one of the conditions. */
async function findRanges(
  conditions: readonly KeyCondition[],
  find: (key: IndexKey) => Promise<SlotRanges>,
): Promise<SlotRanges> {
  const perItem = await Promise.all(
    conditions.map(async (lists) => {
      const perList = await Promise.all(
        lists.map(async (keys) =>
          unite(await Promise.all(keys.map(async (key) => find(await hashSet(key))))),
        ),
      );
      return intersect(perList);
    }),
  );
  return unite(perItem);
}

/** The ranges of one index are those of its parts, so two of them are the same or do not overlap. */
function unite(all: readonly SlotRanges[]): SlotRanges {
  const united = new Map<number, readonly [number, number]>();
  for (const ranges of all) {
    if (ranges === undefined) return undefined;
    for (const range of ranges) united.set(range[0], range);
  }
  return [...united.values()].sort(([a], [b]) => a - b);
}

function intersect(all: readonly SlotRanges[]): SlotRanges {
  let common: SlotRanges;
  for (const ranges of all) {
    if (ranges === undefined) continue;
    const firsts = new Set(ranges.map(([first]) => first));
    common = common === undefined ? ranges : common.filter(([first]) => firsts.has(first));
  }
  return common;
}

function canHave(found: readonly Candidates[], first: number, last: number): boolean {
  let next = first;
  for (const { run, ranges } of found) {
    if (run.last < next) continue;
    if (run.first > next) return true;
    if (ranges === undefined || overlaps(ranges, next, last)) return true;
    next = run.last + 1;
    if (next > last) return false;
  }
  return next <= last;
}

/** Returns whether a range overlaps some slots. The ranges ascend. */
function overlaps(ranges: NonNullable<SlotRanges>, first: number, last: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.[1] ?? 0) >= first) high = middle;
    else low = middle + 1;
  }
  const range = ranges[low];
  return range !== undefined && range[0] <= last;
}
