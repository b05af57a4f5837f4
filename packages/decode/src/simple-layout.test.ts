import { describe, expect, test } from 'vitest';
import { typedColumnsOf } from './program-decoder.ts';
import {
  type IdlInstruction,
  type IdlType,
  integer,
  type ProgramDescription,
  publicKey,
  u8,
} from './program-description.ts';
import { simpleLayoutOf } from './simple-layout.ts';

const tag = Uint8Array.of(1, 2, 3);

function instruction(name: string, start: Uint8Array, ...types: readonly IdlType[]) {
  return {
    name,
    discriminators: [{ offset: 0, bytes: start }],
    fieldsAt: start.length,
    fields: types.map((type, i) => ({ name: `value_${i}`, type })),
    accounts: [{ name: 'payer' }, { name: 'pool' }],
  } satisfies IdlInstruction;
}

function simple(...instructions: readonly IdlInstruction[]) {
  const program: ProgramDescription = {
    address: undefined,
    name: 'test',
    instructions,
    events: [],
    types: new Map(),
  };
  const columns = typedColumnsOf([program], 'set') ?? { args: [], accounts: [] };
  const wanted = { programId: '', name: 'set', isEvent: false, columns, mints: [] };
  return simpleLayoutOf(program, wanted);
}

describe('a simple layout', () => {
  test('behavior: lists integers with their offsets, without hidden ones, and the numbers of accounts', () => {
    const set = instruction('set', tag, u8, integer(8), integer(2, true));
    const fields = set.fields.map((field, i) => ({ ...field, isHidden: i === 0 }));
    expect(simple({ ...set, fields }, instruction('other', Uint8Array.of(1, 2, 4)))).toEqual({
      tag,
      bytesMin: 14,
      values: [
        { offset: 4, op: 5 },
        { offset: 12, op: 7 },
      ],
      accounts: [0, 1],
    });
  });

  test.each([
    ['an address', [instruction('set', tag, publicKey)]],
    ['a large integer', [instruction('set', tag, integer(16))]],
    ['a big-endian integer', [instruction('set', tag, integer(4, false, true))]],
    ['no constant bytes', [{ ...instruction('set', tag, u8), discriminators: [] }]],
    ['a length', [{ ...instruction('set', tag, u8), byteLength: 4 }]],
    [
      'an account that may be left out',
      [{ ...instruction('set', tag, u8), accounts: [{ name: 'payer', absent: 'omitted' }] }],
    ],
    [
      'constant bytes that start another instruction',
      [instruction('set', tag, u8), instruction('other', Uint8Array.of(1, 2, 3, 4))],
    ],
  ] satisfies [string, IdlInstruction[]][])(
    'behavior: an instruction with %s is not simple',
    (_what, instructions) => {
      expect(simple(...instructions)).toBeUndefined();
    },
  );
});
