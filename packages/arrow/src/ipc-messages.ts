/**
 * The messages of an Arrow IPC stream (https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc).
 *
 *   schema · [dictionary] record batch · [dictionary] record batch · … · end marker
 *
 * A stream has at most one dictionary of texts, and each record batch comes with its own, which replaces the one before. So each batch can be
 * made alone, by any thread, and batches can be concatenated in any order. A stream without its end marker was cut.
 */
import {
  type ArrowField,
  type ArrowMetadata,
  type ArrowType,
  type ColumnData,
  childFields,
} from './arrow-type.ts';
import { FlatBuilder, type FlatField } from './flat-builder.ts';

/** The constants of the format's schema: `Message.fbs` and `Schema.fbs`. */
export const HEADER = { schema: 1, dictionary: 2, batch: 3 } as const;
export const TYPE_CODES = {
  int: 2,
  binary: 4,
  utf8: 5,
  bool: 6,
  timestamp: 10,
  list: 12,
  struct: 13,
  fixedBinary: 15,
} as const;
export type TypeKind = keyof typeof TYPE_CODES;
export const typeKinds: readonly TypeKind[] = [
  ...(['int', 'binary', 'utf8', 'bool', 'timestamp'] as const),
  ...(['list', 'struct', 'fixedBinary'] as const),
];
const version5 = 4;
/** The id of the one dictionary. */
const dictionaryId = 0;
/** Marks the start of a message. */
const continuation = 0xffffffff;
/** Buffers and messages begin at multiples of this. */
const alignment = 8;

export const END_OF_STREAM: Uint8Array = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

const byteField = (id: number, value: number): FlatField => ({
  id,
  byteCount: 1,
  write: (b) => b.byte(value),
});
const short = (id: number, value: number): FlatField => ({
  id,
  byteCount: 2,
  write: (b) => b.short(value),
});
const int = (id: number, value: number): FlatField => ({
  id,
  byteCount: 4,
  write: (b) => b.int(value),
});
const long = (id: number, value: number): FlatField => ({
  id,
  byteCount: 8,
  write: (b) => b.long(value),
});
const reference = (id: number, position: number): FlatField => ({
  id,
  byteCount: 4,
  write: (b) => b.reference(position),
});

export function encodeSchema(
  fields: readonly ArrowField[],
  metadata: ArrowMetadata = [],
): Uint8Array {
  const builder = new FlatBuilder();
  const positions = fields.map((field) => writeField(builder, field));
  const list = builder.references(positions);
  const pairs = writeMetadata(builder, metadata);
  const schema = builder.table([short(0, 0), reference(1, list), reference(2, pairs)]);
  return frame(finishMessage(builder, HEADER.schema, schema, { bodyLength: 0, metadata: [] }));
}

/** The bytes of a batch of rows: the header of the message, and the buffers of its body with the padding after each. */
export function encodeBatch(
  columns: readonly ColumnData[],
  length: number,
  metadata: ArrowMetadata,
): readonly Uint8Array[] {
  const builder = new FlatBuilder();
  const body = layOut(columns);
  const batch = writeBatch(builder, length, body);
  const { bodyLength } = body;
  const header = finishMessage(builder, HEADER.batch, batch, { bodyLength, metadata });
  return [frame(header), ...body.parts];
}

/** The bytes of a dictionary, which replaces the one before. */
export function encodeDictionary(texts: ColumnData): readonly Uint8Array[] {
  const builder = new FlatBuilder();
  const body = layOut([texts]);
  const data = writeBatch(builder, texts.length, body);
  const batch = builder.table([long(0, dictionaryId), reference(1, data), byteField(2, 0)]);
  const { bodyLength } = body;
  const header = finishMessage(builder, HEADER.dictionary, batch, { bodyLength, metadata: [] });
  return [frame(header), ...body.parts];
}

interface Body {
  readonly nodes: readonly (readonly number[])[];
  readonly buffers: readonly (readonly number[])[];
  readonly parts: readonly Uint8Array[];
  readonly bodyLength: number;
}

const zeros = new Uint8Array(alignment);

/** Puts the buffers of all columns one after another, each followed by those of its children. */
function layOut(columns: readonly ColumnData[]): Body {
  const nodes: number[][] = [];
  const buffers: number[][] = [];
  const parts: Uint8Array[] = [];
  let bodyLength = 0;
  const add = ({ length, nullCount, buffers: values, children }: ColumnData) => {
    nodes.push([length, nullCount]);
    for (const buffer of values) {
      buffers.push([bodyLength, buffer.length]);
      const padding = -buffer.length & (alignment - 1);
      if (buffer.length > 0) parts.push(buffer);
      if (padding > 0) parts.push(zeros.subarray(0, padding));
      bodyLength += buffer.length + padding;
    }
    for (const child of children) add(child);
  };
  for (const column of columns) add(column);
  return { nodes, buffers, parts, bodyLength };
}

function writeBatch(builder: FlatBuilder, length: number, { nodes, buffers }: Body): number {
  const bufferList = builder.structs(buffers);
  const nodeList = builder.structs(nodes);
  return builder.table([long(0, length), reference(1, nodeList), reference(2, bufferList)]);
}

function writeMetadata(builder: FlatBuilder, metadata: ArrowMetadata): number {
  const pairs = metadata.map(([key, value]) => {
    const [keyAt, valueAt] = [builder.text(key), builder.text(value)];
    return builder.table([reference(0, keyAt), reference(1, valueAt)]);
  });
  return builder.references(pairs);
}

function finishMessage(
  builder: FlatBuilder,
  type: number,
  header: number,
  { bodyLength, metadata }: { bodyLength: number; metadata: ArrowMetadata },
): Uint8Array {
  const pairs = writeMetadata(builder, metadata);
  const message = builder.table([
    short(0, version5),
    byteField(1, type),
    reference(2, header),
    long(3, bodyLength),
    reference(4, pairs),
  ]);
  return builder.finish(message);
}

/** Puts the marker and the length in front of the header of a message. */
function frame(header: Uint8Array): Uint8Array {
  const framed = new Uint8Array(8 + header.length);
  const view = new DataView(framed.buffer);
  view.setUint32(0, continuation, true);
  view.setUint32(4, header.length, true);
  framed.set(header, 8);
  return framed;
}

function writeField(builder: FlatBuilder, { name, type, isNullable }: ArrowField): number {
  const children = builder.references(childFields(type).map((child) => writeField(builder, child)));
  const nameAt = builder.text(name);
  const isDictionary = type.kind === 'dictionary';
  const typeAt = writeType(builder, isDictionary ? { kind: 'utf8' } : type);
  const fields = [
    reference(0, nameAt),
    byteField(1, isNullable ? 1 : 0),
    byteField(2, TYPE_CODES[isDictionary ? 'utf8' : type.kind]),
    reference(3, typeAt),
    reference(5, children),
  ];
  if (isDictionary) fields.push(reference(4, writeDictionaryEncoding(builder)));
  return builder.table(fields);
}

/** The indexes are signed, because readers such as pandas refuse others. */
function writeDictionaryEncoding(builder: FlatBuilder): number {
  const index = writeType(builder, { kind: 'int', bits: 32, isSigned: true });
  return builder.table([long(0, dictionaryId), reference(1, index)]);
}

function writeType(builder: FlatBuilder, type: Exclude<ArrowType, { kind: 'dictionary' }>): number {
  switch (type.kind) {
    case 'int':
      return builder.table([int(0, type.bits), byteField(1, type.isSigned ? 1 : 0)]);
    case 'fixedBinary':
      return builder.table([int(0, type.byteCount)]);
    case 'timestamp': {
      const zone = builder.text('UTC');
      return builder.table([short(0, 0), reference(1, zone)]);
    }
    default:
      return builder.table([]);
  }
}
