/**
 * Writes structures in Thrift's compact protocol, as the headers and the footer of a Parquet file need them.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
import { ByteSink } from './byte-sink.ts';

export type ThriftValue =
  | { readonly kind: 'i32' | 'i64'; readonly value: number }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  | {
      readonly kind: 'list';
      readonly of: keyof typeof TYPES;
      readonly value: readonly ThriftValue[];
    }
  | { readonly kind: 'struct'; readonly value: ThriftStruct };

/** The fields by their numbers, which ascend. Absent ones are not written. */
export type ThriftStruct = readonly (readonly [id: number, value: ThriftValue | undefined])[];

export const i32 = (value: number): ThriftValue => ({ kind: 'i32', value });
export const i64 = (value: number): ThriftValue => ({ kind: 'i64', value });
export const bool = (value: boolean): ThriftValue => ({ kind: 'bool', value });
export const binary = (value: Uint8Array): ThriftValue => ({ kind: 'binary', value });
export const text = (value: string): ThriftValue => binary(Buffer.from(value));
export const struct = (...value: ThriftStruct): ThriftValue => ({ kind: 'struct', value });
export const listOf = (of: keyof typeof TYPES, value: readonly ThriftValue[]): ThriftValue => ({
  kind: 'list',
  of,
  value,
});

/** The numbers of the types. That of `true` is the one of booleans in lists, of which there are none. */
const TYPES = { bool: 1, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
const FALSE = 2;

export function encodeStruct(fields: ThriftStruct): Uint8Array {
  const sink = new ByteSink();
  writeStruct(sink, fields);
  return sink.bytes;
}

function writeStruct(sink: ByteSink, fields: ThriftStruct): void {
  let before = 0;
  for (const [id, value] of fields) {
    if (value === undefined) continue;
    const type = value.kind === 'bool' && !value.value ? FALSE : TYPES[value.kind];
    // All numbers of fields that Parquet has differ by less than 16.
    sink.byte(((id - before) << 4) | type);
    before = id;
    if (value.kind !== 'bool') writeValue(sink, value);
  }
  sink.byte(0);
}

function writeValue(sink: ByteSink, value: ThriftValue): void {
  switch (value.kind) {
    case 'i32':
    case 'i64':
      sink.varint(BigInt(value.value) * 2n);
      break;
    case 'binary':
      sink.varint(value.value.length);
      sink.append(value.value);
      break;
    case 'list': {
      const { length } = value.value;
      sink.byte((Math.min(length, 15) << 4) | TYPES[value.of]);
      if (length >= 15) sink.varint(length);
      for (const item of value.value) writeValue(sink, item);
      break;
    }
    case 'struct':
      writeStruct(sink, value.value);
      break;
    case 'bool':
      sink.byte(value.value ? TYPES.bool : FALSE);
  }
}
