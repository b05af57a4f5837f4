/** Encodes the rows of a table as a file. The same rows give the same bytes. */
import type { ArrowField, ArrowType } from '@sluice/arrow/arrow-type';
import { usesDictionary } from '@sluice/arrow/arrow-type';
import { buildColumns } from '@sluice/arrow/build-columns';
import {
  END_OF_STREAM,
  encodeBatch,
  encodeDictionary,
  encodeSchema,
} from '@sluice/arrow/ipc-messages';
import { type ArrowValue, isArrowList, isArrowStruct } from '@sluice/arrow/ipc-reader';
import { encodeBase58 } from '@sluice/base/base58';
import { type ParquetWriteOptions, parquetWriteBuffer } from 'hyparquet-writer';

type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number];

export const EXPORT_FORMATS = ['parquet', 'arrow', 'csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The ends of the names of files. */
export const FILE_ENDS: Readonly<Record<ExportFormat, string>> = {
  parquet: 'parquet',
  arrow: 'arrows',
  csv: 'csv',
  jsonl: 'jsonl',
};

export interface TableRows {
  readonly fields: readonly ArrowField[];
  /** The values of each column. */
  readonly columns: readonly (readonly ArrowValue[])[];
  readonly rowCount: number;
}

/** The number of rows in a row group, or in a record batch. */
const groupRows = 1 << 16;

export function encodeTable(format: ExportFormat, table: TableRows): Uint8Array {
  switch (format) {
    case 'parquet':
      return encodeParquet(table);
    case 'arrow':
      return encodeArrow(table);
    case 'csv':
      return encodeCsv(table);
    case 'jsonl':
      return encodeLines(table);
  }
}

function encodeArrow({ fields, columns, rowCount }: TableRows): Uint8Array {
  const hasDictionary = fields.some(usesDictionary);
  const parts = [encodeSchema(fields)];
  for (let start = 0; start < rowCount; start += groupRows) {
    const some = columns.map((values) => values.slice(start, start + groupRows));
    const built = buildColumns(fields, some);
    if (hasDictionary) parts.push(...encodeDictionary(built.dictionary));
    parts.push(...encodeBatch(built.columns, Math.min(groupRows, rowCount - start), []));
  }
  return Buffer.concat([...parts, END_OF_STREAM]);
}

function encodeParquet({ fields, columns }: TableRows): Uint8Array {
  const buffer = parquetWriteBuffer({
    schema: [
      { name: 'root', num_children: fields.length },
      ...fields.flatMap((field) => parquetElements(field)),
    ],
    columnData: fields.map(({ name, type }, i) => ({
      name,
      data: (columns[i] ?? []).map((value) => parquetValue(type, value)),
    })),
    rowGroupSize: groupRows,
    createdBy: 'sluice',
  });
  return new Uint8Array(buffer);
}

function parquetElements({ name, type, isNullable }: ArrowField): SchemaElement[] {
  const repetition_type = isNullable ? 'OPTIONAL' : 'REQUIRED';
  const of = { name, repetition_type } as const;
  switch (type.kind) {
    case 'bool':
      return [{ ...of, type: 'BOOLEAN' }];
    case 'int':
      return [{ ...of, ...parquetInt(type.bits, type.isSigned) }];
    case 'timestamp':
      return [
        {
          ...{ ...of, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
        },
      ];
    case 'utf8':
    case 'dictionary':
      return [{ ...of, type: 'BYTE_ARRAY', converted_type: 'UTF8' }];
    case 'binary':
      return [{ ...of, type: 'BYTE_ARRAY' }];
    case 'fixedBinary':
      return [{ ...of, type: 'FIXED_LEN_BYTE_ARRAY', type_length: type.byteCount }];
    case 'list':
      return [
        { ...of, converted_type: 'LIST', num_children: 1 },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        ...parquetElements({ ...type.item, name: 'element' }),
      ];
    case 'struct':
      return [
        { ...of, num_children: type.fields.length },
        ...type.fields.flatMap((each) => parquetElements(each)),
      ];
  }
}

function parquetInt(
  bits: 32 | 64,
  isSigned: boolean,
): Pick<SchemaElement, 'type' | 'converted_type'> {
  const type = bits === 64 ? 'INT64' : 'INT32';
  if (isSigned) return { type };
  return { type, converted_type: bits === 64 ? 'UINT_64' : 'UINT_32' };
}

function parquetValue(type: ArrowType, value: ArrowValue): unknown {
  return type.kind === 'timestamp' && typeof value === 'bigint'
    ? new Date(Number(value) * 1000)
    : value;
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
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
