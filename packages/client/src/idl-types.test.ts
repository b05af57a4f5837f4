import { describe, expect, expectTypeOf, test } from 'vitest';
import { type EventArgs, type InstructionArgs, isEvent, isInstruction } from './idl-types.ts';

const idl = {
  metadata: { name: 'amm' },
  instructions: [
    {
      name: 'swap',
      args: [
        { name: 'amount_in', type: 'u64' },
        { name: 'limit', type: { option: 'u8' } },
        { name: 'route', type: { vec: { defined: { name: 'Hop' } } } },
        { name: 'side', type: { defined: { name: 'Side' } } },
        { name: 'seed', type: { array: ['u8', 32] } },
      ],
    },
    { name: 'close', args: [] },
  ],
  events: [{ name: 'Swapped' }],
  types: [
    { name: 'Hop', type: { kind: 'struct', fields: [{ name: 'pool', type: 'pubkey' }] } },
    {
      name: 'Side',
      type: {
        kind: 'enum',
        variants: [
          { name: 'Buy' },
          { name: 'Limit', fields: [{ name: 'price', type: 'u32' }] },
          { name: 'Pair', fields: ['u8', 'bool'] },
        ],
      },
    },
    { name: 'Swapped', type: { kind: 'struct', fields: [{ name: 'fee', type: 'u128' }] } },
  ],
} as const;

const swap = {
  program: 'amm',
  name: 'swap',
  args: { amount_in: 5 },
  accounts: {},
  remaining: [],
  events: [],
};

describe('types of an IDL', () => {
  test('behavior: arguments and events have the types of their decoded values', () => {
    expectTypeOf<InstructionArgs<typeof idl, 'swap'>>().toEqualTypeOf<{
      readonly amount_in: number | string;
      readonly limit: number | null;
      readonly route: readonly { readonly pool: string }[];
      readonly side:
        | 'Buy'
        | { readonly Limit: { readonly price: number } }
        | { readonly Pair: readonly [number, boolean] };
      readonly seed: string;
    }>();
    expectTypeOf<EventArgs<typeof idl, 'Swapped'>>().toEqualTypeOf<{
      readonly fee: number | string;
    }>();
  });

  test('behavior: a decoded record is recognized by program and name, and not if it has an error', () => {
    expect(isInstruction(swap, idl, 'swap')).toBe(true);
    expect(isInstruction(swap, idl, 'close')).toBe(false);
    expect(isInstruction({ ...swap, program: 'other' }, idl, 'swap')).toBe(false);
    expect(
      isInstruction({ program: 'amm', name: 'swap', error: 'too short', raw: '0x' }, idl, 'swap'),
    ).toBe(false);
    expect(isInstruction(null, idl, 'swap')).toBe(false);
    const event = {
      program: 'amm',
      name: 'Swapped',
      args: { fee: '170141183460469231731687303715884105728' },
    };
    expect(isEvent(event, idl, 'Swapped')).toBe(true);
    if (isEvent(event, idl, 'Swapped')) expectTypeOf(event.args.fee).toEqualTypeOf<string>();
  });
});
