import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeProgram } from './describe-program.ts';
import { readIdl } from './idl/read-idl.ts';
import type { IdlType, ProgramDescription } from './program-description.ts';
import { bytes, integer, publicKey, sized, text, u8 } from './program-description.ts';

test('default: the IDL of the demo gives names and simple types', () => {
  const file = new URL('../../../docs/idl/amm.json', import.meta.url);
  const descriptions = readIdl(readFileSync(file, 'utf8'));
  const { program, instructions, events } = describeProgram('p', descriptions);
  expect(program).toBe('amm');
  expect(instructions[0]).toMatchObject({
    name: 'swap',
    args: [
      { name: 'amount_in', type: 'u64' },
      { name: 'amount_out_min', type: 'u64' },
    ],
  });
  expect(instructions[0]?.accounts.slice(0, 2)).toEqual(['user', 'pool']);
  expect(events[0]?.args.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'pool address',
    'user address',
    'amount_in u64',
    'amount_out u64',
    'fee u64',
    'base_for_quote bool',
  ]);
});

test('behavior: an instruction that IDLs describe in several ways is marked', () => {
  const file = new URL('../../../docs/idl/amm.json', import.meta.url);
  const text = readFileSync(file, 'utf8');
  const other = readIdl(text.replaceAll('"amount_out_min"', '"least"'));
  const isVaried = (descriptions: readonly ProgramDescription[]) =>
    describeProgram('p', descriptions).instructions.map((found) => found.isVaried === true);
  expect(isVaried([...readIdl(text), ...readIdl(text)])).not.toContain(true);
  const [swap, ...others] = isVaried([...readIdl(text), ...other]);
  expect(swap).toBe(true);
  expect(others).not.toContain(true);
});

function describeOne(type: IdlType, types: Readonly<Record<string, IdlType>> = {}) {
  const layout = { name: 'a', discriminators: [], fieldsAt: 0, fields: [{ name: 'x', type }] };
  const description: ProgramDescription = {
    address: 'p',
    name: 'p',
    instructions: [{ ...layout, accounts: [] }],
    events: [],
    types: new Map(Object.entries(types)),
  };
  const [instruction] = describeProgram('p', [description, description]).instructions;
  return instruction?.args[0];
}

const option = (item: IdlType): IdlType => ({ kind: 'option', prefix: u8, item, isFixed: false });
const list = (item: IdlType): IdlType => ({ kind: 'array', count: 4, item });
const choice = (type?: IdlType): IdlType => {
  const variant = { name: 'a', number: 0 };
  return {
    kind: 'enum',
    size: u8,
    variants: [type === undefined ? variant : { ...variant, type }],
  };
};

test.each<[string, IdlType, object]>([
  ['an integer of 128 bits', integer(16, true), { type: 'i128' }],
  ['an optional address', option(publicKey), { type: 'address', isOptional: true }],
  ['text with a length', sized(u8, text), { type: 'text' }],
  ['bytes', bytes, { type: 'bytes' }],
  ['a list of bytes', list(u8), { type: 'bytes' }],
  ['a list', list(publicKey), { type: 'json' }],
  ['an enum without values', choice(), { type: 'text' }],
  ['an enum with values', choice(u8), { type: 'json' }],
  ['an unknown type', { kind: 'defined', name: 'none' }, { type: 'json' }],
])('behavior: the type of %s', (_, type, expected) => {
  expect(describeOne(type)).toEqual({ name: 'x', ...expected });
});

test('limit: a type that contains itself is described to a depth', () => {
  const node: IdlType = {
    kind: 'struct',
    fields: [{ name: 'n', type: { kind: 'defined', name: 'node' } }],
  };
  expect(JSON.stringify(describeOne(node, { node })).length).toBeLessThan(1_000);
});
