import { describe, expect, test } from 'vitest';
import type { DecodedLayout } from './decoded-layout.ts';
import { eventColumnsOf } from './program-decoder.ts';
import {
  boolean,
  type IdlInstruction,
  type IdlType,
  integer,
  type ProgramDescription,
  publicKey,
  text,
  u8,
} from './program-description.ts';
import { simpleEventOf } from './simple-event.ts';

const tag = Uint8Array.of(1, 2, 3);

function layoutOf(name: string, start: Uint8Array, ...types: readonly IdlType[]) {
  return {
    name,
    discriminators: [{ offset: 0, bytes: start }],
    fieldsAt: start.length,
    fields: types.map((type, i) => ({ name: `value_${i}`, type })),
  };
}

function instruction(name: string, start: number, ...types: readonly IdlType[]): IdlInstruction {
  const accounts = ['payer', 'pool'].map((account) => ({ name: account }));
  return { ...layoutOf(name, Uint8Array.of(start), ...types), accounts };
}

const trade = layoutOf('trade', tag, publicKey, integer(8), boolean, integer(2, true));

function simple(
  given: Partial<ProgramDescription>,
  { mints = [], accounts = ['pool'] }: { mints?: DecodedLayout['mints']; accounts?: string[] } = {},
) {
  const program: ProgramDescription = {
    address: undefined,
    name: 'test',
    instructions: [instruction('set', 7, u8)],
    events: [trade],
    types: new Map(),
    ...given,
  };
  const { args } = eventColumnsOf([program], 'trade') ?? { args: [] };
  const columns = { args, accounts };
  return simpleEventOf(program, { programId: '', name: 'trade', isEvent: true, columns, mints });
}

describe('a simple event', () => {
  test('behavior: lists values with their offsets, and the simple instructions with their accounts', () => {
    const instructions = [
      instruction('set', 7, u8, publicKey),
      instruction('varied', 8, text),
      { ...instruction('poolless', 9), accounts: [{ name: 'payer' }] },
      { ...instruction('optional', 10), accounts: [{ name: 'pool', absent: 'omitted' }] },
    ] satisfies IdlInstruction[];
    expect(simple({ instructions })).toEqual({
      tag,
      bytesMin: 46,
      values: [
        { offset: 3, op: 13 },
        { offset: 35, op: 5 },
        { offset: 43, op: 12 },
        { offset: 44, op: 7 },
      ],
      callers: [
        { tag: Uint8Array.of(7), bytesMin: 34, accounts: [1] },
        { tag: Uint8Array.of(9), bytesMin: 1, accounts: [-1] },
      ],
    });
  });

  test.each([
    ['a text', { events: [layoutOf('trade', tag, text)] }],
    ['a large integer', { events: [layoutOf('trade', tag, integer(16))] }],
    [
      'a large boolean',
      { events: [layoutOf('trade', tag, { kind: 'boolean', size: integer(4) })] },
    ],
    [
      'a boolean that is no value',
      { events: [{ ...trade, fields: [{ name: 'flag', type: boolean, isHidden: true }] }] },
    ],
    ['no constant bytes', { events: [{ ...trade, discriminators: [] }] }],
    ['constant bytes that start another event', { events: [trade, layoutOf('other', tag)] }],
  ] satisfies [string, Partial<ProgramDescription>][])(
    'behavior: an event with %s is not simple',
    (_what, given) => {
      expect(simple(given)).toBeUndefined();
    },
  );

  test('behavior: an event is not simple if the decimals of an argument are wanted', () => {
    const mint = { name: 'pool', number: 0 };
    expect(simple({}, { mints: [{ head: 'accounts', ...mint }] })).toBeDefined();
    expect(simple({}, { mints: [{ head: 'args', ...mint, name: 'value_0' }] })).toBeUndefined();
  });

  test('behavior: an instruction with a boolean may fail to decode, and is therefore not simple', () => {
    expect(simple({ instructions: [instruction('set', 7, boolean)] })?.callers).toEqual([]);
  });
});
