/** Reads Arrow IPC streams with the types that `ipc-messages.ts` writes. Bytes are pushed as they arrive. */
import { assert } from '@sluice/base/assert';
import { type ArrowField, type ArrowType, type ColumnData, childFields } from './arrow-type.ts';
import { FlatTable } from './flat-reader.ts';
import { HEADER, TYPE_CODES, type TypeKind, typeKinds } from './ipc-messages.ts';

export interface ArrowBatch {
  readonly length: number;
  readonly columns: readonly ColumnData[];
  /** The texts to which columns of the type `dictionary` refer. */
  readonly dictionary: Dictionary;
  readonly metadata: ReadonlyMap<string, string>;
}

/** The texts of a dictionary. They are decoded on first use, because a reader may need only their bytes. */
export class Dictionary {
  /** The column of the texts; undefined if the stream has none. */
  readonly column: ColumnData | undefined;
  #texts: readonly string[] | undefined;

  constructor(column: ColumnData | undefined) {
    this.column = column;
  }

  get texts(): readonly string[] {
    this.#texts ??= this.column === undefined ? [] : textsOf(this.column);
    return this.#texts;
  }
}

/** A message is a prefix, which is the marker and the length of the header, then the header, and then the body. */
const prefixBytes = 8;

export class ArrowStreamReader {
  /** Bytes that are not used yet. They are copied once, when enough of them have arrived. */
  readonly #parts: Uint8Array[] = [];
  #partBytes = 0;
  #headerBytes: number | undefined;
  #header: FlatTable | undefined;
  #fields: readonly ArrowField[] | undefined;
  #dictionary = new Dictionary(undefined);
  #isEnded = false;

  /** The columns, once the schema has arrived. */
  get fields(): readonly ArrowField[] | undefined {
    return this.#fields;
  }

  /** Whether the end marker has arrived. A stream that ends without it was cut. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Returns the record batches that are complete with these bytes. */
  push(bytes: Uint8Array): ArrowBatch[] {
    this.#parts.push(bytes);
    this.#partBytes += bytes.length;
    const batches: ArrowBatch[] = [];
    while (!this.#isEnded && this.#readHeader()) {
      const header = this.#header;
      const body = header === undefined ? undefined : this.#take(header.long(3));
      if (header === undefined || body === undefined) break;
      this.#headerBytes = undefined;
      this.#header = undefined;
      const batch = this.#read(header, body);
      if (batch !== undefined) batches.push(batch);
    }
    return batches;
  }

  /** Reads the header of the next message, unless it was read before. Returns false if its bytes have not all arrived. */
  #readHeader(): boolean {
    if (this.#headerBytes === undefined) {
      const prefix = this.#take(prefixBytes);
      if (prefix === undefined) return false;
      this.#headerBytes = new DataView(prefix.buffer).getUint32(4, true);
      this.#isEnded = this.#headerBytes === 0;
    }
    if (this.#isEnded) return false;
    if (this.#header === undefined) {
      const bytes = this.#take(this.#headerBytes);
      if (bytes !== undefined) this.#header = FlatTable.root(new DataView(bytes.buffer));
    }
    return this.#header !== undefined;
  }

  /** Removes bytes from the front, into a buffer of their own, so that values are aligned. Returns undefined if too few have arrived. */
  #take(count: number): Uint8Array | undefined {
    if (this.#partBytes < count) return undefined;
    // Every byte is set below, so none is cleared first.
    const taken = new Uint8Array(Buffer.allocUnsafeSlow(count).buffer);
    let filled = 0;
    let partCount = 0;
    for (const part of this.#parts) {
      if (filled + part.length > count) break;
      taken.set(part, filled);
      filled += part.length;
      partCount++;
    }
    this.#parts.splice(0, partCount);
    const [next] = this.#parts;
    if (next !== undefined && filled < count) {
      taken.set(next.subarray(0, count - filled), filled);
      this.#parts[0] = next.subarray(count - filled);
    }
    this.#partBytes -= count;
    return taken;
  }

  #read(message: FlatTable, body: Uint8Array): ArrowBatch | undefined {
    const header = message.table(2);
    assert(header !== undefined, 'a message has a header');
    switch (message.byte(1)) {
      case HEADER.schema:
        this.#fields = header.tables(1).map(readField);
        return undefined;
      case HEADER.dictionary: {
        const data = header.table(1);
        assert(data !== undefined, 'a dictionary has values');
        const [texts] = readColumns(data, [dictionaryField], body);
        this.#dictionary = new Dictionary(texts);
        return undefined;
      }
      default: {
        const pairs = message.tables(4).map((pair) => [pair.text(0), pair.text(1)] as const);
        return {
          length: header.long(0),
          columns: readColumns(header, this.#fields ?? [], body),
          dictionary: this.#dictionary,
          metadata: new Map(pairs),
        };
      }
    }
  }
}

/** Returns where the headers of the messages are in bytes that consist of whole messages. */
export function messageHeaders(bytes: Uint8Array): { start: number; end: number }[] {
  const headers: { start: number; end: number }[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at + prefixBytes <= bytes.length; ) {
    const start = at + prefixBytes;
    const end = start + view.getUint32(at + 4, true);
    headers.push({ start, end });
    const header = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
    at = end + FlatTable.root(header).long(3);
  }
  return headers;
}

const dictionaryField: ArrowField = { name: '', type: { kind: 'utf8' }, isNullable: false };

const kindsByCode = new Map<number, TypeKind>(typeKinds.map((kind) => [TYPE_CODES[kind], kind]));

function readField(field: FlatTable): ArrowField {
  const children = field.tables(5).map(readField);
  const type = field.table(4) === undefined ? readType(field, children) : dictionary;
  return { name: field.text(0), type, isNullable: field.byte(1) === 1 };
}

const dictionary: ArrowType = { kind: 'dictionary' };

function readType(field: FlatTable, children: readonly ArrowField[]): ArrowType {
  const kind = kindsByCode.get(field.byte(2));
  const type = field.table(3);
  assert(kind !== undefined && type !== undefined, 'the stream has only types that Sluice writes');
  switch (kind) {
    case 'int':
      return { kind, bits: type.int(0) === 64 ? 64 : 32, isSigned: type.byte(1) === 1 };
    case 'fixedBinary':
      return { kind, byteCount: type.int(0) };
    case 'list': {
      const [item] = children;
      assert(item !== undefined, 'a list has a type of its items');
      return { kind, item };
    }
    case 'struct':
      return { kind, fields: children };
    default:
      return { kind };
  }
}

function readColumns(
  batch: FlatTable,
  fields: readonly ArrowField[],
  body: Uint8Array,
): readonly ColumnData[] {
  const nodes = batch.pairs(1);
  const ranges = batch.pairs(2);
  let node = 0;
  let range = 0;
  const read = ({ type }: ArrowField): ColumnData => {
    const [length = 0, nullCount = 0] = nodes[node++] ?? [];
    const buffers = Array.from({ length: bufferCount(type) }, () => {
      const [start = 0, byteLength = 0] = ranges[range++] ?? [];
      return body.subarray(start, start + byteLength);
    });
    return { length, nullCount, buffers, children: childFields(type).map(read) };
  };
  return fields.map(read);
}

function bufferCount({ kind }: ArrowType): number {
  if (kind === 'struct') return 1;
  return kind === 'utf8' || kind === 'binary' ? 3 : 2;
}

export const isValid = (bits: Uint8Array | undefined, i: number) =>
  bits === undefined || bits.length === 0 || (((bits[i >> 3] ?? 0) >> (i & 7)) & 1) === 1;

export function intsOf(bytes: Uint8Array | undefined): Int32Array {
  if (bytes === undefined) return new Int32Array(0);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
}

function textsOf({ length, buffers }: ColumnData): string[] {
  const starts = intsOf(buffers[1]);
  const bytes = Buffer.from(buffers[2] ?? []);
  return Array.from({ length }, (_, i) => bytes.toString('utf8', starts[i], starts[i + 1]));
}

/** A value of a column: integers of 64 bits are bigints, times are seconds, bytes are views. */
export type ArrowValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly ArrowValue[]
  | { readonly [name: string]: ArrowValue };

export function isArrowList(value: ArrowValue): value is readonly ArrowValue[] {
  return Array.isArray(value);
}

export function isArrowStruct(value: ArrowValue): value is { readonly [name: string]: ArrowValue } {
  if (typeof value !== 'object' || value === null) return false;
  return !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Returns the values of a column. */
export function valuesOf(
  { type }: ArrowField,
  column: ColumnData,
  dictionary: Dictionary,
): ArrowValue[] {
  const { length, buffers, children, nullCount } = column;
  const [valid] = buffers;
  const read = reader(type, column, dictionary, children);
  return Array.from({ length }, (_, i) => (nullCount > 0 && !isValid(valid, i) ? null : read(i)));
}

function reader(
  type: ArrowType,
  { buffers }: ColumnData,
  dictionary: Dictionary,
  children: readonly ColumnData[],
): (i: number) => ArrowValue {
  const bytes = buffers[1] ?? new Uint8Array(0);
  switch (type.kind) {
    case 'bool':
      return (i) => (((bytes[i >> 3] ?? 0) >> (i & 7)) & 1) === 1;
    case 'int': {
      const { buffer, byteOffset, length } = bytes;
      if (type.bits === 64) {
        const longs = type.isSigned
          ? new BigInt64Array(buffer, byteOffset, length >> 3)
          : new BigUint64Array(buffer, byteOffset, length >> 3);
        return (i) => longs[i] ?? 0n;
      }
      const ints = type.isSigned
        ? new Int32Array(buffer, byteOffset, length >> 2)
        : new Uint32Array(buffer, byteOffset, length >> 2);
      return (i) => ints[i] ?? 0;
    }
    case 'timestamp': {
      const longs = new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.length >> 3);
      return (i) => longs[i] ?? 0n;
    }
    case 'dictionary': {
      const indexes = intsOf(bytes);
      const { texts } = dictionary;
      return (i) => texts[indexes[i] ?? 0] ?? '';
    }
    case 'fixedBinary':
      return (i) => bytes.subarray(i * type.byteCount, (i + 1) * type.byteCount);
    case 'utf8': {
      const starts = intsOf(bytes);
      const texts = Buffer.from(
        buffers[2]?.buffer ?? new ArrayBuffer(0),
        buffers[2]?.byteOffset,
        buffers[2]?.length,
      );
      return (i) => texts.toString('utf8', starts[i], starts[i + 1]);
    }
    case 'binary': {
      const starts = intsOf(bytes);
      return (i) => (buffers[2] ?? bytes).subarray(starts[i], starts[i + 1]);
    }
    case 'list': {
      const starts = intsOf(bytes);
      const [child] = children;
      const items = child === undefined ? [] : valuesOf(type.item, child, dictionary);
      return (i) => items.slice(starts[i], starts[i + 1]);
    }
    case 'struct': {
      const members = type.fields.map((field, at) => {
        const child = children[at];
        return [field.name, child === undefined ? [] : valuesOf(field, child, dictionary)] as const;
      });
      return (i) => Object.fromEntries(members.map(([name, values]) => [name, values[i] ?? null]));
    }
  }
}
