/** Encodes the rows of a table as a file: Parquet, Arrow, CSV or lines of JSON. The same rows give the same bytes. */

import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { type ArrowField, type ArrowType, usesDictionary } from './arrow-type.ts';
import { buildColumns } from './build-columns.ts';
import { END_OF_STREAM, encodeBatch, encodeDictionary, encodeSchema } from './ipc-messages.ts';
import {
  type ArrowBatch,
  type ArrowValue,
  isArrowList,
  isArrowStruct,
  valuesOf,
} from './ipc-reader.ts';
import { ParquetWriter } from './parquet/parquet-writer.ts';

export const EXPORT_FORMATS = ['parquet', 'arrow', 'csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The ends of the names of files. */
export const FILE_ENDS: Readonly<Record<ExportFormat, string>> = {
  parquet: 'parquet',
  arrow: 'arrows',
  csv: 'csv',
  jsonl: 'jsonl',
};

/** Rows of the record batches of a stream. */
export interface TablePart {
  readonly fields: readonly ArrowField[];
  readonly parts: readonly BatchRows[];
}

/** Adjacent rows of a record batch. */
export interface BatchRows {
  readonly batch: ArrowBatch;
  readonly start: number;
  readonly end: number;
}

interface TableRows {
  readonly fields: readonly ArrowField[];
  /** The values of each column. */
  readonly columns: readonly (readonly ArrowValue[])[];
  readonly rowCount: number;
}

/** The number of rows in a record batch. */
const batchRows = 1 << 16;

export function encodeTable(format: ExportFormat, table: TablePart): Uint8Array {
  switch (format) {
    case 'parquet':
      return encodeParquet(table);
    case 'arrow':
      return encodeArrow(readRows(table));
    case 'csv':
      return encodeCsv(readRows(table));
    case 'jsonl':
      return encodeLines(readRows(table));
  }
}

export const countRows = ({ parts }: TablePart) =>
  parts.reduce((sum, { start, end }) => sum + end - start, 0);

/** Returns the values of rows. */
function readRows({ fields, parts }: TablePart): TableRows {
  const columns: ArrowValue[][] = fields.map(() => []);
  for (const { batch, start, end } of parts)
    for (const [i, field] of fields.entries()) {
      const values = valuesOf(field, elementAt(batch.columns, i), batch.dictionary);
      for (let row = start; row < end; row++) columns[i]?.push(values[row] ?? null);
    }
  return { fields, columns, rowCount: countRows({ fields, parts }) };
}

function encodeArrow({ fields, columns, rowCount }: TableRows): Uint8Array {
  const hasDictionary = fields.some(usesDictionary);
  const parts = [encodeSchema(fields)];
  for (let start = 0; start < rowCount; start += batchRows) {
    const some = columns.map((values) => values.slice(start, start + batchRows));
    const built = buildColumns(fields, some);
    if (hasDictionary) parts.push(...encodeDictionary(built.dictionary));
    parts.push(...encodeBatch(built.columns, Math.min(batchRows, rowCount - start), []));
  }
  return Buffer.concat([...parts, END_OF_STREAM]);
}

function encodeParquet({ fields, parts }: TablePart): Uint8Array {
  const writer = new ParquetWriter(fields);
  for (const { batch, start, end } of parts) writer.add(batch, start, end);
  return writer.finish();
}

/** Bytes are base58, times are ISO 8601, and integers have all digits. */
function textOf(type: ArrowType, value: ArrowValue): string {
  if (value instanceof Uint8Array) return encodeBase58(value);
  if (type.kind === 'timestamp' && typeof value === 'bigint')
    return new Date(Number(value) * 1000).toISOString();
  return String(value);
}

function jsonOf(type: ArrowType, value: ArrowValue): string {
  if (value === null) return 'null';
  if (type.kind === 'list' && isArrowList(value))
    return `[${value.map((item) => jsonOf(type.item.type, item)).join()}]`;
  if (type.kind === 'struct' && isArrowStruct(value)) {
    const texts = type.fields.map(
      (each) => `${JSON.stringify(each.name)}:${jsonOf(each.type, value[each.name] ?? null)}`,
    );
    return `{${texts.join()}}`;
  }
  const isBare = type.kind === 'int' || type.kind === 'bool';
  return isBare ? String(value) : JSON.stringify(textOf(type, value));
}

function encodeLines({ fields, columns, rowCount }: TableRows): Uint8Array {
  const names = fields.map(({ name }) => JSON.stringify(name));
  const lines = Array.from({ length: rowCount }, (_, row) => {
    const members = fields.map(
      ({ type }, i) => `${names[i]}:${jsonOf(type, columns[i]?.[row] ?? null)}`,
    );
    return `{${members.join()}}\n`;
  });
  return Buffer.from(lines.join(''));
}

function encodeCsv({ fields, columns, rowCount }: TableRows): Uint8Array {
  const heading = `${fields.map(({ name }) => name).join()}\r\n`;
  const lines = Array.from({ length: rowCount }, (_, row) => {
    const cells = fields.map(({ type }, i) => csvCell(type, columns[i]?.[row] ?? null));
    return `${cells.join()}\r\n`;
  });
  return Buffer.from(heading + lines.join(''));
}

/** Lists are JSON. */
function csvCell(type: ArrowType, value: ArrowValue): string {
  if (value === null) return '';
  const isNested = type.kind === 'list' || type.kind === 'struct';
  const text = isNested ? jsonOf(type, value) : textOf(type, value);
  return quoteCsv(text);
}

/** Quotes a cell of CSV if it has to be (RFC 4180). */
export function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
