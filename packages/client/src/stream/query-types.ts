/** The types of a query and of its blocks, which depend on the `fields` of the query. */
import type { FullRecord } from '@sluice/protocol/block-line';
import type { Dialect } from '@sluice/protocol/dialect';
import type {
  DefaultFieldName,
  FIELDS,
  FieldName,
  Kind,
  RECORD_ARRAYS,
  RecordArray,
} from '@sluice/protocol/field-table';
import type { ItemBody, QueryBody } from '@sluice/protocol/query-body';
import type { BlockRef } from '../base/block-ref.ts';

/** A query as plain JSON, as `docs/query.md` describes it. */
export type Query = QueryBody<Dialect>;

type DialectOf<Q> = Q extends { readonly type: 'solana' } ? 'solana' : 'ledger';

/** A value as the client returns it: a 64-bit quantity is a bigint in every dialect. */
type FieldValue<K extends Kind, Name, D extends Dialect> = Name extends keyof (typeof FIELDS)[K]
  ? (typeof FIELDS)[K][Name] extends { readonly wire: 'quantity' | 'seconds' }
    ? bigint | Extract<FullRecord<K, 'ledger'>[Name & keyof FullRecord<K, 'ledger'>], null>
    : FullRecord<K, D>[Name & keyof FullRecord<K, D>]
  : never;

/** The selector of a kind in `fields`; an empty object if the kind is not selected. */
type SelectorOf<F, K extends Kind> = K extends keyof F ? NonNullable<F[K]> : object;

/** The fields that are selected by the literal `true`. */
type CertainName<K extends Kind, D extends Dialect, F> = [F] extends [undefined]
  ? DefaultFieldName<K, D>
  : TrueName<SelectorOf<F, K>> & FieldName<K, D>;

type TrueName<Selector> = {
  [Name in keyof Selector]-?: [Selector[Name]] extends [true] ? Name : never;
}[keyof Selector];

/** The fields whose value has the type `boolean`: the compiler does not know whether they are selected. */
type PossibleName<K extends Kind, D extends Dialect, F> = [F] extends [undefined]
  ? never
  : UnknownName<SelectorOf<F, K>> & FieldName<K, D>;

type UnknownName<Selector> = {
  [Name in keyof Selector]-?: [Selector[Name]] extends [true]
    ? never
    : [Selector[Name]] extends [false]
      ? never
      : Name;
}[keyof Selector];

type Simplify<T> = { [Key in keyof T]: T[Key] };

/** A record of a kind with the fields that a selector enables. */
export type SelectedFields<K extends Kind, D extends Dialect, F> = Simplify<
  { readonly [Name in CertainName<K, D, F>]: FieldValue<K, Name, D> } & {
    readonly [Name in PossibleName<K, D, F>]?: FieldValue<K, Name, D>;
  }
>;

/**
 * A block of a query. The header always has `number` and `hash`, which the client needs to resume. Each of the six arrays is present, and
 * empty if the block has no such records.
 */
export type Block<Q = Query> = {
  readonly header: Simplify<BlockRef & SelectedFields<'block', DialectOf<Q>, FieldsOf<Q>>>;
} & {
  readonly [A in RecordArray]: readonly SelectedFields<
    (typeof RECORD_ARRAYS)[A],
    DialectOf<Q>,
    FieldsOf<Q>
  >[];
};

type FieldsOf<Q> = Q extends { readonly fields: infer F } ? F : undefined;

/** Rejects unknown keys: otherwise a misspelt filter would compile, and only the service would refuse it. */
export type Strict<Q> = {
  readonly [Key in keyof Q]: Key extends RecordArray
    ? StrictItems<Q[Key], ItemBody<Key>>
    : Key extends 'fields'
      ? StrictFields<Q[Key], DialectOf<Q>>
      : Key extends keyof Query
        ? Q[Key]
        : never;
};

type StrictItems<Items, Item> = Items extends readonly unknown[]
  ? {
      readonly [I in keyof Items]: {
        readonly [Key in keyof Items[I]]: Key extends keyof Item ? Items[I][Key] : never;
      };
    }
  : Items;

type StrictFields<F, D extends Dialect> = {
  readonly [K in keyof F]: K extends Kind
    ? { readonly [Name in keyof F[K]]: Name extends FieldName<K, D> ? F[K][Name] : never }
    : never;
};
