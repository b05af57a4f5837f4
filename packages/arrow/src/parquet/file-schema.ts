/** The schema of a Parquet file for Arrow columns. https://github.com/apache/parquet-format */
import type { ArrowField, ArrowType } from '../arrow-type.ts';
import { bool, i32, struct, type ThriftValue, text } from './thrift.ts';

export const PHYSICAL_TYPES = { boolean: 0, int32: 1, int64: 2, bytes: 6, fixedBytes: 7 } as const;
const repetitions = { required: 0, optional: 1, repeated: 2 } as const;
const converted = { utf8: 0, list: 3, milliseconds: 9, uint32: 13, uint64: 14 } as const;

/** Seconds of Arrow are milliseconds in the file, because Parquet has no seconds. */
const utcMilliseconds = struct([8, struct([1, bool(true)], [2, struct([1, struct()])])]);

interface Element {
  readonly physical?: number;
  readonly byteCount?: number;
  readonly converted?: number;
  readonly logical?: ThriftValue;
  readonly childCount?: number;
}

/** Returns the schema as a list: each group is followed by its fields. */
export function describeSchema(fields: readonly ArrowField[]): ThriftValue[] {
  return [
    element('root', undefined, { childCount: fields.length }),
    ...fields.flatMap((field) => describeField(field)),
  ];
}

function element(
  name: string,
  repetition: keyof typeof repetitions | undefined,
  rest: Element,
): ThriftValue {
  const optional = (value: number | undefined) => (value === undefined ? undefined : i32(value));
  return struct(
    [1, optional(rest.physical)],
    [2, optional(rest.byteCount)],
    [3, repetition === undefined ? undefined : i32(repetitions[repetition])],
    [4, text(name)],
    [5, optional(rest.childCount)],
    [6, optional(rest.converted)],
    [10, rest.logical],
  );
}

function describeField({ name, type, isNullable }: ArrowField): ThriftValue[] {
  const repetition = isNullable ? 'optional' : 'required';
  switch (type.kind) {
    case 'list':
      return [
        element(name, repetition, { childCount: 1, converted: converted.list }),
        element('list', 'repeated', { childCount: 1 }),
        ...describeField({ ...type.item, name: 'element' }),
      ];
    case 'struct':
      return [
        element(name, repetition, { childCount: type.fields.length }),
        ...type.fields.flatMap((field) => describeField(field)),
      ];
    default:
      return [element(name, repetition, describeLeaf(type))];
  }
}

export type LeafType = Exclude<ArrowType, { kind: 'list' | 'struct' }>;

function describeLeaf(type: LeafType): Element {
  const physical = physicalType(type);
  switch (type.kind) {
    case 'int':
      if (type.isSigned) return { physical };
      return { physical, converted: type.bits === 64 ? converted.uint64 : converted.uint32 };
    case 'timestamp':
      return { physical, converted: converted.milliseconds, logical: utcMilliseconds };
    case 'utf8':
    case 'dictionary':
      return { physical, converted: converted.utf8 };
    case 'fixedBinary':
      return { physical, byteCount: type.byteCount };
    default:
      return { physical };
  }
}

export function physicalType(type: LeafType): number {
  switch (type.kind) {
    case 'bool':
      return PHYSICAL_TYPES.boolean;
    case 'int':
      return type.bits === 64 ? PHYSICAL_TYPES.int64 : PHYSICAL_TYPES.int32;
    case 'timestamp':
      return PHYSICAL_TYPES.int64;
    case 'fixedBinary':
      return PHYSICAL_TYPES.fixedBytes;
    default:
      return PHYSICAL_TYPES.bytes;
  }
}

/** A column of the file. A field that is a list or a struct becomes the columns of the fields inside of it, and `path` leads to one of them. */
export interface Leaf {
  readonly path: readonly ArrowField[];
  readonly type: LeafType;
  /** The path with the names of the file. */
  readonly names: readonly string[];
  /** The largest definition level: how many fields of the path can be absent. */
  readonly definitionMax: number;
  /** The largest repetition level: how many fields of the path are lists. */
  readonly repetitionMax: number;
}

export function listLeaves(fields: readonly ArrowField[]): Leaf[] {
  return fields.flatMap((field) => leavesOf(field, { ...noPath, names: [field.name] }));
}

const noPath = { path: [], names: [], definitionMax: 0, repetitionMax: 0 };

function leavesOf(field: ArrowField, above: Omit<Leaf, 'type'>): Leaf[] {
  const { type, isNullable } = field;
  const path = [...above.path, field];
  const definitionMax = above.definitionMax + (isNullable ? 1 : 0);
  const { names, repetitionMax } = above;
  switch (type.kind) {
    case 'list':
      return leavesOf(type.item, {
        path,
        names: [...names, 'list', 'element'],
        definitionMax: definitionMax + 1,
        repetitionMax: repetitionMax + 1,
      });
    case 'struct':
      return type.fields.flatMap((child) =>
        leavesOf(child, { path, names: [...names, child.name], definitionMax, repetitionMax }),
      );
    default:
      return [{ path, type, names, definitionMax, repetitionMax }];
  }
}
