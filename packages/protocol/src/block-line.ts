/**
 * The types of a response line. In the dialect `ledger` a 64-bit quantity is a JSON integer, which `JSON.parse` would
 * round; its type here is bigint, so a client must parse integers exactly. In `solana` it is text, and plain
 * `JSON.parse` gives these types.
 */
import type { Dialect } from './dialect.ts';
import type {
  DefaultFieldName,
  FIELDS,
  FieldName,
  Kind,
  LogKind,
  RECORD_ARRAYS,
  RecordArray,
} from './field-table.ts';
import type { FieldsBody } from './query-body.ts';

export interface AddressTableLookupValue {
  readonly accountKey: string;
  readonly readonlyIndexes: readonly number[];
  readonly writableIndexes: readonly number[];
}

export interface LoadedAddressesValue {
  readonly readonly: readonly string[];
  readonly writable: readonly string[];
}

export interface BlockRefValue {
  readonly number: number;
  readonly hash: string;
}

/**
 * A value of an instruction or event. An integer that a JavaScript number does not represent exactly is decimal text, bytes are `0x` and
 * hex digits, and addresses are base58.
 */
export type DecodedArgument =
  | null
  | boolean
  | number
  | string
  | readonly DecodedArgument[]
  | { readonly [name: string]: DecodedArgument };

/** A decoded instruction or event. If it has an `error`, it has no `args`, and `raw` has all bytes. */
export interface DecodedValue {
  /** The name of the program in its IDL; null without an IDL. */
  readonly program: string | null;
  /** The name of the instruction or event; null if the IDL does not describe it. */
  readonly name: string | null;
  readonly args?: Readonly<Record<string, DecodedArgument>>;
  /** Bytes after the last argument, as `0x` and hex digits. */
  readonly trailing?: string;
  /** Whether the instruction is a call by which a program recorded an event. */
  readonly isEvent?: true;
  /** Of an instruction: the accounts by name; null if an optional one was not passed. */
  readonly accounts?: Readonly<Record<string, string | null>>;
  /** Of an instruction: the accounts without a name. */
  readonly remaining?: readonly string[];
  /** Of an instruction: the events that it emitted. */
  readonly events?: readonly DecodedValue[];
  readonly error?: string;
  readonly raw?: string;
}

interface SharedValues {
  integer: number;
  boolean: boolean;
  text: string;
  address: string;
  hash: string;
  base58: string;
  hex: string;
  logKind: LogKind;
  addresses: readonly string[];
  signatures: readonly string[];
  path: readonly number[];
  errorObject: Readonly<Record<string, unknown>>;
  addressTableLookups: readonly AddressTableLookupValue[];
  loadedAddresses: LoadedAddressesValue;
  recordCounts: Readonly<Record<RecordArray, number>>;
  blockRef: BlockRefValue;
  decoded: DecodedValue;
}

interface WireValues {
  ledger: SharedValues & { seconds: bigint; quantity: bigint; version: number };
  solana: SharedValues & { seconds: number; quantity: string; version: number | 'legacy' };
}

type FieldValue<Row, D extends Dialect> = Row extends {
  wire: infer Wire extends keyof WireValues[D];
}
  ? WireValues[D][Wire] | (Row extends { nullable: true } ? null : never)
  : never;

/** A record of a kind, or the header, with every field of the dialect. */
export type FullRecord<K extends Kind, D extends Dialect> = {
  readonly [Name in FieldName<K, D> & keyof (typeof FIELDS)[K]]: FieldValue<
    (typeof FIELDS)[K][Name],
    D
  >;
};

type EnabledName<Selector> = {
  [Name in keyof Selector]: Selector[Name] extends true ? Name : never;
}[keyof Selector];

type SelectedName<K extends Kind, D extends Dialect, F> =
  F extends FieldsBody<D>
    ?
        | (F extends { readonly [Key in K]: infer Selector } ? EnabledName<Selector> : never)
        | AlwaysSent<K>
    : DefaultFieldName<K, D>;

type AlwaysSent<K extends Kind> = K extends 'block' ? 'number' : never;

/** The record of a kind that a query with the selector `F` gets. `undefined` means no selector. */
export type SelectedRecord<K extends Kind, D extends Dialect, F> = Pick<
  FullRecord<K, D>,
  SelectedName<K, D, F> & keyof FullRecord<K, D>
>;

export type BlockLine<D extends Dialect = 'ledger', F = undefined> = {
  readonly header: SelectedRecord<'block', D, F>;
} & {
  readonly [A in RecordArray]?: readonly SelectedRecord<(typeof RECORD_ARRAYS)[A], D, F>[];
};
