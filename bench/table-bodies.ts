/** The tables that a query fills, and for each the query of the lines with the same rows. */
import { ARROW_TABLES, type ArrowTable } from '@sluice/protocol/arrow-table';
import { RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { relationRows } from '@sluice/protocol/request-table';
import { entriesOf, keysOf } from '@sluice/protocol/typed-keys';

export type QueryBody = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, unknown>>;

const itemsOf = (body: QueryBody, array: RecordArray) => (body[array] ?? []) as readonly Item[];

/** Returns the tables with records that the query selects. */
export function tablesOf(body: QueryBody): ArrowTable[] {
  return keysOf(ARROW_TABLES).filter((table) => {
    const wanted = ARROW_TABLES[table];
    return (
      wanted !== undefined && Object.keys(linesOf(body, table)).some((name) => name !== 'fields')
    );
  });
}

/** Returns a query for lines with only the records of one table. An item that selects other records brings them without a field. */
export function linesOf(body: QueryBody, table: ArrowTable): QueryBody {
  const wanted = ARROW_TABLES[table];
  const selected: Record<string, unknown> = {};
  for (const [array] of entriesOf(RECORD_ARRAYS)) {
    const items = itemsOf(body, array).flatMap((item) => narrow(item, array, wanted));
    if (items.length > 0) selected[array] = items;
  }
  const fields = body['fields'] as Readonly<Record<string, unknown>>;
  const kinds = Object.values(RECORD_ARRAYS);
  const wantedKind = wanted === undefined ? undefined : RECORD_ARRAYS[wanted];
  const others = kinds.filter((kind) => kind !== wantedKind).map((kind) => [kind, {}] as const);
  return { ...selected, fields: { ...fields, ...Object.fromEntries(others) } };
}

function narrow(item: Item, array: RecordArray, wanted: RecordArray | undefined): Item[] {
  const kept = { ...item };
  let isUseful = array === wanted;
  for (const [name, { brings }] of relationRows(array)) {
    if (brings === wanted && item[name] === true) isUseful = true;
    else delete kept[name];
  }
  return isUseful ? [kept] : [];
}
