/**
 * A query in canonical form: lists are sorted and unique, hex is lower case, flags are booleans, default fields are
 * listed, and equal items appear once. Two bodies with the same meaning therefore give equal queries.
 *
 *   Query
 *   ├─ range      fromBlock … toBlock, parentBlockHash
 *   └─ Selection  what the query selects in each block of the range
 *      ├─ dialect, includeAllBlocks
 *      ├─ fields       per kind, in wire order
 *      └─ six arrays   items { filters, relations }; the result is the union of all items
 */

import type { Brand } from '@sluice/base/brand';
import type { DecodedLayout } from '@sluice/decode/decoded-layout';
import type { Address } from '@sluice/ledger/primitives';
import type { ArrowAddresses, ArrowTable } from '@sluice/protocol/arrow-table';
import type { Dialect } from '@sluice/protocol/dialect';
import {
  type FieldName,
  type Kind,
  type LogKind,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from '@sluice/protocol/field-table';
import type { ITEMS } from '@sluice/protocol/request-table';
import type { AddressSet } from './address-set.ts';

/** `0x` and lower-case hex digits, two per byte. */
export type Hex = Brand<string, 'Hex'>;

/** Returns the hex in lower case, or `undefined` if the text is not `0x` and hex digits. */
export function parseHex(text: string): Hex | undefined {
  return /^0x[0-9a-fA-F]*$/.test(text) ? (text.toLowerCase() as Hex) : undefined;
}

/**
 * The addresses of a filter, sorted by their text and without duplicates, followed by its sets, sorted by name. Addresses are still texts,
 * because a list can have thousands; the engine decodes them when it needs the bytes.
 */
export type AddressList = readonly (Address | AddressSet)[];

type FilterValue<Row> = Row extends { value: 'address' }
  ? AddressList
  : Row extends { value: 'discriminator' | 'prefix' }
    ? readonly Hex[]
    : Row extends { value: 'logKind' }
      ? readonly LogKind[]
      : boolean;

type AnyFilterValue = boolean | readonly (string | AddressSet)[];

/**
 * One item. A record matches if all filters of the item match. An absent filter is no constraint; a filter with an
 * empty list matches nothing. The relations select the related records to include.
 */
export interface Item<A extends RecordArray> {
  readonly filters: {
    readonly [Name in keyof (typeof ITEMS)[A]['filters']]?: FilterValue<
      (typeof ITEMS)[A]['filters'][Name]
    >;
  };
  readonly relations: { readonly [Name in keyof (typeof ITEMS)[A]['relations']]: boolean };
}

export type Items = { readonly [A in RecordArray]: readonly Item<A>[] };

/** The fields to write, in wire order. The list of the header always begins with `number`. */
export type FieldLists = { readonly [K in Kind]: readonly FieldName<K>[] };

/** The part of a query that applies to each block, without the range. */
export interface Selection extends Items {
  readonly dialect: Dialect;
  /** Whether blocks without selected records are sent too. */
  readonly includeAllBlocks: boolean;
  readonly fields: FieldLists;
  /** The version of the IDLs, if records are decoded: the same query gives other lines after an IDL was registered. */
  readonly idlVersion?: number;
  /** The output form, if it is not JSON lines. Then the items and fields have only what the table needs. */
  readonly arrow?: ArrowOutput;
}

export interface ArrowOutput {
  readonly table: ArrowTable;
  readonly addresses: ArrowAddresses;
  /** The instruction or event whose arguments and accounts have columns. */
  readonly decoded?: DecodedLayout | undefined;
}

export interface Query extends Selection {
  /** A safe integer, or `Infinity` for a slot beyond 2^53, which is above every head. */
  readonly fromBlock: number;
  /** Inclusive; a safe integer or `Infinity`. `undefined` means that the stream follows the ledger. */
  readonly toBlock: number | undefined;
  /** Any text, because a client that recovers from a fork sends a wrong hash on purpose. */
  readonly parentBlockHash: string | undefined;
}

/** Returns the sets of addresses that a selection refers to, each version once. */
export function setsOf(selection: Selection): readonly AddressSet[] {
  const sets = new Map<string, AddressSet>();
  for (const array of RECORD_ARRAY_NAMES) {
    for (const { filters } of selection[array]) {
      for (const filter of Object.values<AnyFilterValue>(filters)) {
        if (typeof filter === 'boolean') continue;
        for (const value of filter)
          if (typeof value === 'object') sets.set(`${value.name} ${value.version}`, value);
      }
    }
  }
  return [...sets.values()];
}

/** A set counts as one value for this many bytes of its memory, which threads keep as long as a selection that refers to it. */
const setBytesPerValue = 512;

/** Returns the number of filter values in all lists. Each value takes about 70 bytes of memory. */
export function countValues(selection: Selection): number {
  let count = 0;
  for (const array of RECORD_ARRAY_NAMES) {
    for (const { filters } of selection[array]) {
      for (const filter of Object.values(filters))
        if (Array.isArray(filter)) count += filter.length;
    }
  }
  const setBytes = setsOf(selection).reduce((sum, { memory }) => sum + memory.byteLength, 0);
  return count + Math.ceil(setBytes / setBytesPerValue);
}
