/** Writes lists and structures of Arrow columns as JSON, without an object for each value. */
import type { ArrowField, ColumnData } from '@sluice/arrow/arrow-type';
import { type ArrowBatch, type Dictionary, valuesOf } from '@sluice/arrow/ipc-reader';
import { toJson } from './column-types.ts';

/** The column that becomes a JSON value, or the members of an object with the column of each. */
export type JsonParts = string | Readonly<Record<string, string>>;

/** Returns the text of a row; undefined for null. */
type ReadText = (row: number) => string | undefined;

export function bindJson(
  parts: JsonParts,
  fields: readonly ArrowField[],
  batch: ArrowBatch,
): ReadText {
  const bind = (name: string): ReadText => {
    const i = fields.findIndex((field) => field.name === name);
    const [field, data] = [fields[i], batch.columns[i]];
    if (field === undefined || data === undefined) return () => undefined;
    return bindColumn(field, data, batch.dictionary);
  };
  if (typeof parts === 'string') return bind(parts);
  return joinMembers(Object.entries(parts).map(([name, column]) => [name, bind(column)]));
}

function joinMembers(members: readonly (readonly [name: string, read: ReadText])[]): ReadText {
  return (row) => {
    let text = '';
    for (const [name, read] of members)
      text += `${text === '' ? '{' : ','}"${name}":${read(row) ?? 'null'}`;
    return `${text}}`;
  };
}

function bindColumn(field: ArrowField, data: ColumnData, dictionary: Dictionary): ReadText {
  const read = bindValues(field, data, dictionary);
  const [bits] = data.buffers;
  if (data.nullCount === 0 || bits === undefined || bits.length === 0) return read;
  return (row) => ((((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1 ? read(row) : undefined);
}

function bindValues(field: ArrowField, data: ColumnData, dictionary: Dictionary): ReadText {
  const { type } = field;
  const { buffers, children } = data;
  const bytes = buffers[1] ?? new Uint8Array(0);
  const words = () => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  const [child] = children;
  if (type.kind === 'list' && child !== undefined)
    return joinItems(words(), bindColumn(type.item, child, dictionary));
  if (type.kind === 'struct')
    return joinMembers(
      type.fields.flatMap((part, i) => {
        const column = children[i];
        if (column === undefined) return [];
        return [[toCamelCase(part.name), bindColumn(part, column, dictionary)] as const];
      }),
    );
  if (type.kind === 'dictionary') {
    const indexes = words();
    const quoted: string[] = [];
    return (row) => {
      const index = indexes[row] ?? 0;
      quoted[index] ??= toJson(dictionary.texts[index] ?? '');
      return quoted[index];
    };
  }
  if (type.kind === 'int' && type.bits === 32 && !type.isSigned) {
    const values = words();
    return (row) => String(values[row] ?? 0);
  }
  const values = valuesOf(field, data, dictionary);
  return (row) => toJson(values[row]);
}

function joinItems(starts: Uint32Array, read: ReadText): ReadText {
  return (row) => {
    const [first, end] = [starts[row] ?? 0, starts[row + 1] ?? 0];
    let text = '[';
    for (let i = first; i < end; i++) text += `${i > first ? ',' : ''}${read(i) ?? 'null'}`;
    return `${text}]`;
  };
}

/** Returns the name of a field that belongs to a column. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
