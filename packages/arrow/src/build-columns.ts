/** Builds the columns and the dictionary of a record batch from values, as `valuesOf` returns them. */
import type { ArrowField, ArrowType, ColumnData } from './arrow-type.ts';
import { childFields } from './arrow-type.ts';
import { type ArrowValue, isArrowList, isArrowStruct } from './ipc-reader.ts';

export interface BuiltColumns {
  readonly columns: readonly ColumnData[];
  readonly dictionary: ColumnData;
}

const utf8: ArrowType = { kind: 'utf8' };

export function buildColumns(
  fields: readonly ArrowField[],
  values: readonly (readonly ArrowValue[])[],
): BuiltColumns {
  const texts = new Map<string, number>();
  const columns = fields.map(({ type }, i) => buildColumn(type, values[i] ?? [], texts));
  return { columns, dictionary: buildColumn(utf8, [...texts.keys()], texts) };
}

function buildColumn(
  type: ArrowType,
  values: readonly ArrowValue[],
  texts: Map<string, number>,
): ColumnData {
  const nullCount = values.reduce<number>((sum, value) => sum + (value === null ? 1 : 0), 0);
  const valid = nullCount === 0 ? new Uint8Array(0) : bitsOf(values.map((value) => value !== null));
  const rest = { length: values.length, nullCount };
  switch (type.kind) {
    case 'bool':
      return { ...rest, buffers: [valid, bitsOf(values.map((v) => v === true))], children: [] };
    case 'int':
    case 'timestamp':
    case 'dictionary':
      return { ...rest, buffers: [valid, bytesOfNumbers(type, values, texts)], children: [] };
    case 'fixedBinary': {
      const parts = values.map((v) => (v instanceof Uint8Array ? v : Buffer.alloc(type.byteCount)));
      return { ...rest, buffers: [valid, Buffer.concat(parts)], children: [] };
    }
    case 'utf8':
    case 'binary': {
      const parts = values.map((v) => (v instanceof Uint8Array ? v : Buffer.from(String(v ?? ''))));
      const starts = startsOf(parts.map(({ length }) => length));
      return { ...rest, buffers: [valid, starts, Buffer.concat(parts)], children: [] };
    }
    case 'list': {
      const lists = values.map((v) => (isArrowList(v) ? v : []));
      const starts = startsOf(lists.map(({ length }) => length));
      const child = buildColumn(type.item.type, lists.flat(), texts);
      return { ...rest, buffers: [valid, starts], children: [child] };
    }
    case 'struct': {
      const children = childFields(type).map((field) =>
        buildColumn(
          field.type,
          values.map((v) => memberOf(v, field.name)),
          texts,
        ),
      );
      return { ...rest, buffers: [valid], children };
    }
  }
}

function memberOf(value: ArrowValue, name: string): ArrowValue {
  return isArrowStruct(value) ? (value[name] ?? null) : null;
}

function bytesOfNumbers(
  type: ArrowType,
  values: readonly ArrowValue[],
  texts: Map<string, number>,
): Uint8Array {
  if (type.kind === 'timestamp' || (type.kind === 'int' && type.bits === 64))
    return new Uint8Array(
      BigInt64Array.from(values, (v) => (typeof v === 'bigint' ? v : 0n)).buffer,
    );
  return new Uint8Array(
    Int32Array.from(values, (v) =>
      type.kind === 'dictionary' && typeof v === 'string' ? indexOf(v, texts) : Number(v ?? 0),
    ).buffer,
  );
}

function indexOf(text: string, texts: Map<string, number>): number {
  const known = texts.get(text);
  if (known !== undefined) return known;
  texts.set(text, texts.size);
  return texts.size - 1;
}

function startsOf(lengths: readonly number[]): Uint8Array {
  const starts = new Int32Array(lengths.length + 1);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    at += length;
    starts[i + 1] = at;
  }
  return new Uint8Array(starts.buffer);
}

function bitsOf(values: readonly boolean[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(values.length / 8));
  for (const [i, value] of values.entries())
    if (value) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
  return bits;
}
