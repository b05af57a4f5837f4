/**
 * Instructions whose values the kernel reads into columns (`@sluice/kernels/layout/decoding`): integers at constant offsets, and accounts that
 * are passed at their positions. The host reads all others.
 */
import * as layout from '@sluice/kernels/layout/decoding';
import { TypeCompiler } from './compile-type.ts';
import type { DecodedLayout } from './decoded-layout.ts';
import { isPlain } from './program-decoder.ts';
import type { IdlLayout, IdlType, ProgramDescription } from './program-description.ts';
import { TypedLayout } from './typed-layout.ts';

export interface SimpleLayout {
  /** The bytes with which the data starts. No other instruction of the program starts with them. */
  readonly tag: Uint8Array;
  readonly bytesMin: number;
  /** For each argument its offset and how it is read. */
  readonly values: readonly { readonly offset: number; readonly op: number }[];
  /** For each account of the columns its number in the instruction, or -1. */
  readonly accounts: readonly number[];
}

const OPS: Readonly<Record<number, readonly [unsigned: number, signed: number]>> = {
  1: [layout.OP_U8, layout.OP_I8],
  2: [layout.OP_U16, layout.OP_I16],
  4: [layout.OP_U32, layout.OP_I32],
  8: [layout.OP_U64, layout.OP_I64],
};

/** Returns the layout of an instruction, or undefined if it is an event or not simple. */
export function simpleLayoutOf(
  { instructions, types }: ProgramDescription,
  { name, columns, isEvent }: DecodedLayout,
): SimpleLayout | undefined {
  const found = instructions.find((known) => known.name === name);
  if (isEvent || found === undefined || !found.accounts.every(isPlain)) return undefined;
  const tag = tagOf(found, instructions);
  const values = tag === undefined ? undefined : valuesOf(found);
  const isSame = new TypedLayout(found, new TypeCompiler(types)).has(columns);
  if (tag === undefined || values === undefined || !isSame) return undefined;
  const names = found.accounts.map((account) => account.name);
  return {
    tag,
    bytesMin: Math.max(values.end, tag.length),
    values: values.wanted,
    accounts: columns.accounts.map((account) => names.lastIndexOf(account)),
  };
}

/** Returns the bytes with which all data of a layout starts, and no data of another one, if nothing else distinguishes it. */
export function tagOf(layout: IdlLayout, all: readonly IdlLayout[]): Uint8Array | undefined {
  const { discriminators, byteLength } = layout;
  const [first] = discriminators;
  const isOne = discriminators.length === 1 && byteLength === undefined;
  if (!isOne || first?.offset !== 0 || first.bytes.length === 0) return undefined;
  const isOnly = all.every((other) => other === layout || isApart(other, first.bytes));
  return isOnly ? first.bytes : undefined;
}

/** Returns whether data that starts with a tag never has a layout. */
function isApart({ discriminators }: IdlLayout, tag: Uint8Array): boolean {
  return discriminators.some(
    ({ offset, bytes }) =>
      offset === 0 && bytes.some((byte, i) => i < tag.length && byte !== tag[i]),
  );
}

/** Returns how the arguments are read and where the last one ends, or undefined if one has another type. */
function valuesOf({ fields, fieldsAt }: IdlLayout) {
  const wanted: { offset: number; op: number }[] = [];
  let end = fieldsAt;
  for (const { type, isHidden } of fields) {
    const op = opOf(type);
    if (op === undefined) return undefined;
    if (isHidden !== true) wanted.push({ offset: end, op: op.code });
    end += op.bytes;
  }
  return { wanted, end };
}

export function opOf(type: IdlType): { readonly code: number; readonly bytes: number } | undefined {
  if (type.kind !== 'integer' || type.isBigEndian) return undefined;
  const code = OPS[type.bytes]?.[type.isSigned ? 1 : 0];
  return code === undefined ? undefined : { code, bytes: type.bytes };
}
