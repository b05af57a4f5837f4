/**
 * Reads the description of a program from a table with a line per instruction:
 *
 *   0c transferChecked amount:u64 decimals:u8 | source mint destination authority lockup? clockSysvar!
 *
 * The line has the first bytes of the data in hexadecimal (`-` for none), the name, the arguments with their types, and the accounts. An
 * account with `?` may be omitted. An account with `!` is a sysvar that may be left out and is recognized by its address.
 */
import { Buffer } from 'node:buffer';
import { assert } from '@sluice/base/assert';
import {
  boolean,
  bytes,
  type IdlAccount,
  type IdlField,
  type IdlInstruction,
  type IdlType,
  integer,
  type ProgramDescription,
  publicKey,
  sized,
  text,
  u8,
} from '../program-description.ts';

const SYSVARS: Readonly<Record<string, string>> = {
  clockSysvar: 'SysvarC1ock11111111111111111111111111111111',
  rentSysvar: 'SysvarRent111111111111111111111111111111111',
  stakeHistory: 'SysvarStakeHistory1111111111111111111111111',
  stakeConfig: 'StakeConfig11111111111111111111111111111111',
};

export interface ProgramTable {
  readonly address: string;
  readonly name: string;
  readonly instructions: string;
  /** Types that the arguments refer to. */
  readonly types?: Readonly<Record<string, IdlType>>;
}

export function parseProgramTable({
  address,
  name,
  instructions,
  types = {},
}: ProgramTable): ProgramDescription {
  const lines = instructions.split('\n').filter((line) => line.trim() !== '');
  return {
    address,
    name,
    instructions: lines.map(parseLine),
    events: [],
    types: new Map(Object.entries(types)),
  };
}

function parseLine(line: string): IdlInstruction {
  const [left = '', right = ''] = line.split('|');
  const [start = '', name = '', ...args] = left.trim().split(' ');
  const first = Buffer.from(start === '-' ? '' : start, 'hex');
  return {
    name,
    discriminators: [{ offset: 0, bytes: first }],
    fieldsAt: first.length,
    fields: args.map(parseField),
    accounts: right.trim() === '' ? [] : right.trim().split(' ').map(parseAccount),
  };
}

function parseAccount(account: string): IdlAccount {
  if (account.endsWith('?')) return { name: account.slice(0, -1), absent: 'omitted' };
  if (!account.endsWith('!')) return { name: account };
  const name = account.slice(0, -1);
  const address = SYSVARS[name];
  assert(address !== undefined, 'an account with ! is a known sysvar');
  return { name, address };
}

function parseField(field: string): IdlField {
  const at = field.indexOf(':');
  return { name: field.slice(0, at), type: parseType(field.slice(at + 1)) };
}

/** Parses `u64`, `string(u32)`, `option(publicKey)` or the name of a type. */
export function parseType(type: string): IdlType {
  const [, name = '', inner] = /^(\w+)(?:\((.*)\))?$/.exec(type) ?? [];
  const number = /^(u|i)(8|16|32|64)$/.exec(name);
  if (number !== null) return integer(Number(number[2]) / 8, number[1] === 'i');
  switch (name) {
    case 'bool':
      return boolean;
    case 'f64':
      return { kind: 'float', bytes: 8 };
    case 'publicKey':
      return publicKey;
    case 'bytes':
      return sized(/^\d+$/.test(inner ?? '') ? Number(inner) : parseType(inner ?? ''), bytes);
    case 'string':
      return inner === undefined ? text : sized(parseType(inner), text);
    case 'option':
      return { kind: 'option', prefix: u8, item: parseType(inner ?? ''), isFixed: false };
    case 'zeroable':
      return { kind: 'zeroable', item: parseType(inner ?? '') };
    case 'rest':
      return { kind: 'array', count: 'remainder', item: parseType(inner ?? '') };
    case 'list':
      return { kind: 'array', count: { prefix: integer(8) }, item: parseType(inner ?? '') };
    default:
      return { kind: 'defined', name };
  }
}

export const struct = (fields: string): IdlType => ({
  kind: 'struct',
  fields: fields.split(' ').map(parseField),
});

export const choice = (size: IdlType, names: string): IdlType => ({
  kind: 'enum',
  size,
  variants: names.split(' ').map((name, number) => ({ name, number })),
});
