/**
 * A query as the engine sees it. It is canonical: lists are sorted and unique, hex is lower case, flags are booleans,
 * fields are spelled out, and items that say the same stand once, so that two bodies that ask the same give equal queries.
 *
 *   Query
 *   ├─ range      fromBlock … toBlock, parentBlockHash
 *   └─ Selection  what is asked of every block of the range
 *      ├─ dialect, includeAllBlocks
 *      ├─ fields       per kind, in the order of the wire
 *      └─ six arrays   items { filters, relations }; the records of all items are united
 */
import type { Dialect } from '@sluice/protocol/dialect';
import type { FieldName, Kind, LogKind, RecordArray } from '@sluice/protocol/field-table';
import type { ITEMS } from '@sluice/protocol/request-table';
import type { Brand } from '../base/brand.ts';
import type { Address } from '../ledger/primitives.ts';

/** `0x` and lower-case hex digits, two a byte. */
export type Hex = Brand<string, 'Hex'>;

/** In the order of their text, none twice. Whoever needs the bytes decodes them: there may be thousands. */
export type AddressList = readonly Address[];

type FilterValue<Row> = Row extends { value: 'address' }
  ? AddressList
  : Row extends { value: 'discriminator' | 'prefix' }
    ? readonly Hex[]
    : Row extends { value: 'logKind' }
      ? readonly LogKind[]
      : boolean;

/**
 * One item: a record matches if every filter that is there holds. A filter that is absent constrains nothing; one whose
 * list is empty matches nothing. The relations name what a matching record pulls in.
 */
export interface Item<A extends RecordArray> {
  readonly filters: {
    readonly [Name in keyof (typeof ITEMS)[A]['filters']]?: FilterValue<
      (typeof ITEMS)[A]['filters'][Name]
    >;
  };
  readonly relations: { readonly [Name in keyof (typeof ITEMS)[A]['relations']]: boolean };
}

export type TransactionItem = Item<'transactions'>;
export type InstructionItem = Item<'instructions'>;
export type LogItem = Item<'logs'>;
export type BalanceItem = Item<'balances'>;
export type TokenBalanceItem = Item<'tokenBalances'>;
export type RewardItem = Item<'rewards'>;

export type Items = { readonly [A in RecordArray]: readonly Item<A>[] };

/** The fields to write, in the order of the wire. The header's list always begins with `number`. */
export type FieldLists = { readonly [K in Kind]: readonly FieldName<K>[] };

/** What is asked of a block, whatever the range. */
export interface Selection extends Items {
  readonly dialect: Dialect;
  /** Whether blocks without selected records come too. */
  readonly includeAllBlocks: boolean;
  readonly fields: FieldLists;
}

export interface Query extends Selection {
  /** A safe integer, or `Infinity` for a slot beyond 2^53, which is above every head. */
  readonly fromBlock: number;
  /** Inclusive, of the same kind; `undefined` follows the ledger. */
  readonly toBlock: number | undefined;
  /** Any text: a client recovering from a fork sends wrong ones on purpose. */
  readonly parentBlockHash: string | undefined;
}
