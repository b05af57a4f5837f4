/** Converts the rows of Arrow tables, and the records of lines, to the same plain values, so that they can be compared. */
import { base58 } from '@scure/base';
import { ARROW_TABLES, type ArrowTable, arrowColumnName } from '@sluice/protocol/arrow-table';
import { fieldRows, type Kind, RECORD_ARRAYS, type WireType } from '@sluice/protocol/field-table';
import { type Table, tableFromIPC, Vector } from 'apache-arrow';

export type PlainRow = Readonly<Record<string, unknown>>;

/** Returns the rows of an Arrow stream, read by the library of the Arrow project. */
export function readArrowRows(stream: Uint8Array): PlainRow[] {
  const table: Table = tableFromIPC(stream);
  const names = table.schema.fields.map(({ name }) => name);
  return Array.from({ length: table.numRows }, (_, i) =>
    Object.fromEntries(names.map((name) => [name, plainValue(table.getChild(name)?.get(i))])),
  );
}

/** Integers are texts, and bytes are base58. */
function plainValue(value: unknown): unknown {
  if (value instanceof Vector) return Array.from(value as Iterable<unknown>, plainValue);
  if (value instanceof Uint8Array) return base58.encode(value);
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object') return value;
  const members = Object.entries((value as { toJSON(): object }).toJSON());
  return Object.fromEntries(members.map(([name, member]) => [name, plainValue(member)]));
}

interface Line {
  readonly header: Record<string, unknown>;
  readonly [array: string]: unknown;
}

interface ExpectedColumns {
  readonly hasAllBlocks: boolean;
  /** Given if the query selects the signatures of transactions: all tables have the first one then. */
  readonly signatureOf: ((slot: number, transactionIndex: number) => string | null) | undefined;
}

/** Parses a line. An integer that a number cannot represent becomes a text. */
export function parseLine(line: string): Line {
  return JSON.parse(line.replaceAll(/(?<=[:,[])-?\d{16,}(?=[,}\]])/g, '"$&"')) as Line;
}

/** Returns the rows that the table must have, from the lines of the same query with `number` and `timestamp` of blocks. */
export function rowsOfLines(
  lines: readonly Line[],
  table: ArrowTable,
  { hasAllBlocks, signatureOf }: ExpectedColumns,
): PlainRow[] {
  const array = ARROW_TABLES[table];
  return lines.flatMap((line) => {
    const { header } = line;
    const block = blockColumns(header, table);
    if (array === undefined)
      return hasAllBlocks || Object.keys(line).length > 1 ? [block] : [];
    const records = (line[array] ?? []) as Record<string, unknown>[];
    return records.map((record) => {
      const columns = recordColumns(RECORD_ARRAYS[array], record);
      if (array === 'transactions' || array === 'rewards' || signatureOf === undefined)
        return { ...block, ...columns };
      const signature = signatureOf(Number(header['number']), Number(record['transactionIndex']));
      return { ...block, ...columns, signature };
    });
  });
}

function blockColumns(header: Record<string, unknown>, table: ArrowTable): PlainRow {
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name === 'finalizedHead') continue;
    if (name !== 'recordCounts') {
      columns[arrowColumnName('block', name)] = plainJson(value);
      continue;
    }
    if (table !== 'blocks') continue;
    const kinds: Readonly<Record<string, string>> = RECORD_ARRAYS;
    for (const [array, count] of Object.entries(value as object))
      columns[`${arrowColumnName('', kinds[array] ?? '')}_count`] = String(count);
  }
  // Every table has the time of the block.
  return { ...columns, block_time: timeOf(header['timestamp']) };
}

/** The library returns a time in milliseconds. */
const timeOf = (seconds: unknown) => (seconds === null ? null : String(Number(seconds) * 1000));

function recordColumns(kind: Exclude<Kind, 'block'>, record: Record<string, unknown>): PlainRow {
  const wires = new Map<string, WireType>(fieldRows(kind).map(([name, { wire }]) => [name, wire]));
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    const column = arrowColumnName(kind, name);
    switch (wires.get(name)) {
      case 'signatures':
        columns['signature'] = (value as string[])[0] ?? null;
        columns[column] = value;
        break;
      case 'loadedAddresses': {
        const { writable, readonly } = value as Record<string, unknown>;
        columns[`${column}_writable`] = writable;
        columns[`${column}_readonly`] = readonly;
        break;
      }
      case 'addressTableLookups':
        columns[column] = (value as Record<string, unknown>[]).map((lookup) => ({
          account_key: lookup['accountKey'],
          readonly_indexes: plainJson(lookup['readonlyIndexes']),
          writable_indexes: plainJson(lookup['writableIndexes']),
        }));
        break;
      case 'version':
        columns[column] = value === 'legacy' ? '-1' : String(value);
        break;
      case 'quantity':
        columns[column] = value === null ? null : String(value);
        break;
      case 'errorObject':
      case 'decoded':
        columns[column] = value === null ? null : JSON.stringify(value);
        break;
      default:
        columns[column] = plainJson(value);
    }
  }
  return columns;
}

function plainJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainJson);
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}
