/** Parses the six arrays of a query: items with their filters and flags, checked against the request table. */

import { describeBase58Fault } from '@sluice/base/base58';
import type { Steps } from '@sluice/base/time-slices';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import { type Address, isAddress } from '@sluice/ledger/primitives';
import type { Dialect } from '@sluice/protocol/dialect';
import { LOG_KINDS, type LogKind, type RecordArray } from '@sluice/protocol/field-table';
import { listValueCountMaxOf, type QueryLimits } from '@sluice/protocol/query-limits';
import {
  type FilterRow,
  filterRows,
  relationRows,
  replacedRows,
} from '@sluice/protocol/request-table';
import { hasMembers } from '@sluice/protocol/unknown-value';
import type { AddressSet, AddressSets } from './address-set.ts';
import { type Hex, type Item, parseHex } from './query.ts';
import { itemKey } from './query-key.ts';
import {
  type JsonObject,
  joinPath,
  ownValue,
  type QueryPath,
  refuse,
  requireArray,
  requireBoolean,
  requireKnownKeys,
  requireObject,
} from './query-refusal.ts';
import { replaceNames } from './replace-names.ts';

/** Counts the items and values of all arrays against the limits. */
export class QueryBudget {
  readonly #limits: QueryLimits;
  #itemCount = 0;
  #valueCount = 0;

  constructor(limits: QueryLimits, dialect: Dialect) {
    this.#limits = { ...limits, listValueCountMax: listValueCountMaxOf(dialect, limits) };
  }

  takeItems(count: number, path: QueryPath): void {
    this.#itemCount += count;
    const { itemCountMax } = this.#limits;
    if (this.#itemCount <= itemCountMax) return;
    refuse('query-items-too-many', {
      path,
      found: this.#itemCount,
      allowed: `${itemCountMax} items in all arrays together`,
    });
  }

  takeValues(count: number, path: QueryPath): void {
    this.#valueCount += count;
    const { listValueCountMax, valueCountMax } = this.#limits;
    if (count > listValueCountMax) {
      const allowed = `${listValueCountMax} values in one list`;
      refuse('query-values-too-many', { path, found: count, allowed });
    }
    if (this.#valueCount > valueCountMax) {
      const allowed = `${valueCountMax} values in all lists together`;
      refuse('query-values-too-many', { path, found: this.#valueCount, allowed });
    }
  }
}

/** Parses the items of one array into a sorted list without duplicates, one item or a thousand addresses per step. */
export function* parseItems<A extends RecordArray>(
  body: JsonObject,
  array: A,
  { budget, idls, sets }: Omit<ItemContext, 'path'> & { readonly idls: IdlRegistry },
): Steps<readonly Item<A>[]> {
  const value = ownValue(body, array);
  if (value === undefined) return [];
  const members = requireArray(value, array);
  budget.takeItems(members.length, array);
  const items = new Map<string, Item<A>>();
  for (const [index, member] of members.entries()) {
    const path = joinPath(array, index);
    const parsed = yield* parseItem(member, array, { path, budget, idls, sets });
    for (const item of parsed) items.set(itemKey(item), item);
    yield;
  }
  return [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}

interface ItemContext {
  readonly path: QueryPath;
  readonly budget: QueryBudget;
  readonly sets: AddressSets | undefined;
}

function* parseItem<A extends RecordArray>(
  member: unknown,
  array: A,
  context: ItemContext & { readonly idls: IdlRegistry },
): Steps<readonly Item<A>[]> {
  const object = requireObject(member, context.path);
  const filterTable = filterRows(array);
  const relationTable = relationRows(array);
  const replacedTable = replacedRows(array);
  const names = [...filterTable, ...replacedTable, ...relationTable].map(([name]) => name);
  requireKnownKeys(object, names, context.path);
  const filters: Record<string, unknown> = {};
  for (const [name, row] of [...filterTable, ...replacedTable]) {
    const value = ownValue(object, name);
    const path = joinPath(context.path, name);
    if (value !== undefined && value !== null) {
      filters[name] = yield* parseFilter(value, row, { ...context, path });
    }
  }
  const relations: Record<string, boolean> = {};
  for (const [name] of relationTable) {
    const value = ownValue(object, name);
    relations[name] = value !== undefined && requireBoolean(value, joinPath(context.path, name));
  }
  // Both loops above use the tables from which the types are derived.
  return replaceNames(filters, context).map(
    (replaced) => ({ filters: replaced, relations }) as unknown as Item<A>,
  );
}

function* parseFilter(value: unknown, row: FilterRow, context: ItemContext): Steps<unknown> {
  const { path, budget } = context;
  if (row.value === 'boolean') return requireBoolean(value, path);
  const isSet = (member: unknown) =>
    row.value === 'address' && hasMembers(member) && !Array.isArray(member);
  const isBare = typeof value === 'string' || isSet(value);
  const members: unknown = isBare ? [value] : value;
  if (!Array.isArray(members)) {
    refuse('query-value-invalid', { path, found: value, allowed: 'a string or a list of strings' });
  }
  budget.takeValues(members.length, path);
  // Paths are built only for errors, because there may be thousands of values.
  const pathOf: PathOf = (index) => (isBare ? path : joinPath(path, index));
  const sets: AddressSet[] = [];
  const texts = members.map((member, index) => {
    if (typeof member === 'string') return member;
    if (isSet(member)) {
      sets.push(parseSet(member, { ...context, path: pathOf(index) }));
      return undefined;
    }
    return refuse('query-value-invalid', {
      path: pathOf(index),
      found: member,
      allowed: row.value === 'address' ? 'a string or { "set": NAME }' : 'a string',
    });
  });
  if (row.value === 'address')
    return [...(yield* parseAddresses(texts, pathOf)), ...uniqueSets(sets)];
  const known = texts.filter((text) => text !== undefined);
  if ('bytes' in row) return parseHexes(known, row, pathOf);
  if (row.value === 'name') return sortUnique(known);
  return parseLogKinds(known, pathOf);
}

/** Returns the set that a value such as `{ "set": "exchanges" }` refers to, in its current version or the given one. */
function parseSet(member: unknown, { path, sets }: ItemContext): AddressSet {
  const reference = requireObject(member, path);
  requireKnownKeys(reference, ['set', 'version'], path);
  const name = requireText(ownValue(reference, 'set'), joinPath(path, 'set'));
  const given = ownValue(reference, 'version');
  const version = given === undefined ? undefined : requireText(given, joinPath(path, 'version'));
  const set = sets?.find(name, version);
  if (set !== undefined) return set;
  const current = sets?.find(name);
  if (current !== undefined) {
    refuse('query-set-changed', {
      path: joinPath(path, 'version'),
      found: version,
      allowed: `${current.version}, the current version of ${name}`,
    });
  }
  // The names of other sets are not listed, because they can tell a client about other users.
  return refuse('query-set-unknown', {
    path: joinPath(path, 'set'),
    found: name,
    allowed: 'the name of a set of addresses that the service has',
    remedy:
      'the operator lists the sets with sluice sets list, and creates one with sluice sets put NAME FILE',
  });
}

function requireText(value: unknown, path: QueryPath): string {
  if (typeof value === 'string') return value;
  return refuse('query-value-invalid', { path, found: value, allowed: 'a string' });
}

/** Sets are sorted by name, and then by version. */
function uniqueSets(sets: readonly AddressSet[]): readonly AddressSet[] {
  const unique = new Map(sets.map((set) => [`${set.name} ${set.version}`, set]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set);
}

type PathOf = (index: number) => QueryPath;

/** Decoding this many addresses takes about a millisecond. */
const stepAddressCount = 1_000;

/** Values that are undefined are left out. */
function* parseAddresses(
  values: readonly (string | undefined)[],
  pathOf: PathOf,
): Steps<readonly Address[]> {
  const addresses: Address[] = [];
  for (const [index, text] of values.entries()) {
    if (text === undefined) continue;
    if (!isAddress(text)) {
      const allowed = 'base58 of 32 bytes';
      const fault = describeBase58Fault(text);
      refuse('query-address-invalid', { path: pathOf(index), found: text, fault, allowed });
    }
    addresses.push(text);
    if (addresses.length % stepAddressCount === 0) yield;
  }
  return sortUnique(addresses);
}

function parseLogKinds(values: readonly string[], pathOf: PathOf): readonly LogKind[] {
  const kinds = values.map((text, index) => {
    const kind = LOG_KINDS.find((name) => name === text);
    if (kind !== undefined) return kind;
    const allowed = LOG_KINDS.join(', ');
    return refuse('query-log-kind-invalid', { path: pathOf(index), found: text, allowed });
  });
  return sortUnique(kinds);
}

function parseHexes(
  values: readonly string[],
  { value, bytes }: Extract<FilterRow, { readonly bytes: number }>,
  pathOf: PathOf,
): readonly Hex[] {
  const isPrefix = value === 'prefix';
  const hexes = values.map((text, index) => {
    const length = text.length - '0x'.length;
    const fits = isPrefix ? length % 2 === 0 && length <= 2 * bytes : length === 2 * bytes;
    const hex = fits ? parseHex(text) : undefined;
    if (hex !== undefined) return hex;
    const digits = isPrefix
      ? `an even number of hex digits, 0 to ${2 * bytes}`
      : `${2 * bytes} hex digits`;
    const allowed = `0x and ${digits}`;
    return refuse('query-discriminator-invalid', { path: pathOf(index), found: text, allowed });
  });
  return sortUnique(hexes);
}

function sortUnique<Text extends string>(texts: readonly Text[]): readonly Text[] {
  return [...new Set(texts)].sort();
}
