/**
 * Events whose values the kernel reads into columns (`@sluice/kernels/layout/decoding`): integers, addresses and booleans at constant offsets,
 * emitted by instructions whose arguments can be decoded if they are long enough, with accounts that are passed at their positions.
 */
import * as layout from '@sluice/kernels/layout/decoding';
import { isByte, TypeCompiler } from './compile-type.ts';
import type { DecodedLayout } from './decoded-layout.ts';
import { isPlain } from './program-decoder.ts';
import type {
  IdlInstruction,
  IdlLayout,
  IdlType,
  ProgramDescription,
} from './program-description.ts';
import { opOf, type SimpleLayout, tagOf } from './simple-layout.ts';
import { TypedLayout } from './typed-layout.ts';

/** An event, or an instruction that can emit it. The accounts of an event are those of the instruction that emitted it. */
type EventPart = Pick<SimpleLayout, 'tag' | 'bytesMin'>;

export interface SimpleEvent extends EventPart, Pick<SimpleLayout, 'values'> {
  readonly callers: readonly (EventPart & Pick<SimpleLayout, 'accounts'>)[];
}

const keyByteCount = 32;

/** Returns the layout of an event, or undefined if it is an instruction or not simple. */
export function simpleEventOf(
  { instructions, events, types }: ProgramDescription,
  { name, columns, isEvent, mints }: DecodedLayout,
): SimpleEvent | undefined {
  const found = events.find((known) => known.name === name);
  if (!isEvent || found === undefined) return undefined;
  // The decimals of a mint are found by its text, and the kernel writes no separate texts.
  const hasMintInArgs = mints.some(({ head }) => head === 'args');
  const part = partOf(found, events);
  const isSame = new TypedLayout(found, new TypeCompiler(types)).has(columns);
  if (part === undefined || hasMintInArgs || !isSame) return undefined;
  const callers = instructions.flatMap((caller) => callerOf(caller, instructions, columns) ?? []);
  return { ...part, callers };
}

/** Returns undefined for an instruction that is not simple. */
function callerOf(
  instruction: IdlInstruction,
  all: readonly IdlInstruction[],
  { accounts }: DecodedLayout['columns'],
): SimpleEvent['callers'][number] | undefined {
  const part = instruction.accounts.every(isPlain) ? partOf(instruction, all) : undefined;
  if (part?.values.some(({ op }) => op === layout.OP_BOOLEAN) !== false) return undefined;
  const names = instruction.accounts.map((account) => account.name);
  const numbers = accounts.map((account) => names.lastIndexOf(account));
  return { tag: part.tag, bytesMin: part.bytesMin, accounts: numbers };
}

function partOf(
  found: IdlLayout,
  all: readonly IdlLayout[],
): Omit<SimpleEvent, 'callers'> | undefined {
  const tag = tagOf(found, all);
  const values: { offset: number; op: number }[] = [];
  let end = found.fieldsAt;
  for (const { type, isHidden } of found.fields) {
    const op = codeOf(type);
    if (op === undefined) return undefined;
    // A hidden boolean is checked too, which the kernel does not do.
    if (isHidden === true && op.code === layout.OP_BOOLEAN) return undefined;
    if (isHidden !== true) values.push({ offset: end, op: op.code });
    end += op.bytes;
  }
  return tag && { tag, bytesMin: Math.max(end, tag.length), values };
}

function codeOf(type: IdlType): ReturnType<typeof opOf> {
  if (type.kind === 'publicKey') return { code: layout.OP_KEY, bytes: keyByteCount };
  if (type.kind === 'boolean' && isByte(type.size)) return { code: layout.OP_BOOLEAN, bytes: 1 };
  return opOf(type);
}
