/** The type of a request body. */
import type { Dialect } from './dialect.ts';
import type { FieldName, Kind, LogKind, RecordArray } from './field-table.ts';
import type { ITEMS } from './request-table.ts';

type List<Value> = Value | readonly Value[] | null;

/** A set of addresses that the service stores. The version is that of an earlier response; without it, the current one is used. */
export interface SetBody {
  readonly set: string;
  readonly version?: string;
}

type FilterBody<Row> = Row extends { value: 'boolean' }
  ? boolean | null
  : Row extends { value: 'logKind' }
    ? List<LogKind>
    : Row extends { value: 'address' }
      ? List<string | SetBody>
      : List<string>;

/** An item of one array of a query. `{}` selects every record of its kind. */
export type ItemBody<A extends RecordArray> = {
  readonly [Name in keyof (typeof ITEMS)[A]['filters']]?: FilterBody<
    (typeof ITEMS)[A]['filters'][Name]
  >;
} & {
  readonly [Name in keyof (typeof ITEMS)[A]['relations']]?: boolean;
} & {
  readonly [Name in ReplacedName<A>]?: List<string>;
};

type ReplacedName<A extends RecordArray> = (typeof ITEMS)[A] extends { replaced: infer Rows }
  ? keyof Rows
  : never;

export type FieldsBody<D extends Dialect = Dialect> = {
  readonly [K in Kind]?: { readonly [Name in FieldName<K, D>]?: boolean };
};

export type ItemsBody = { readonly [A in RecordArray]?: readonly ItemBody<A>[] };

export interface QueryBody<D extends Dialect = Dialect> extends ItemsBody {
  readonly type?: D;
  readonly fromBlock: number;
  readonly toBlock?: number | null;
  readonly parentBlockHash?: string | null;
  readonly includeAllBlocks?: boolean;
  readonly fields?: FieldsBody<D>;
}
