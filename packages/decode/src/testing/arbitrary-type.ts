/** Random types of values. */
import fc from 'fast-check';
import { type IdlType, integer, u8, u32 } from '../program-description.ts';

const prefixes = fc.constantFrom<IdlType>(
  u8,
  integer(2),
  u32,
  integer(8),
  integer(16),
  integer(4, false, true),
  { kind: 'shortInteger', bytesMax: 3 },
);
const leaves = fc.oneof(
  prefixes,
  fc.constantFrom<IdlType>(
    integer(1, true),
    integer(32, true),
    { kind: 'float', bytes: 4 },
    { kind: 'float', bytes: 8 },
    { kind: 'boolean', size: u8 },
    { kind: 'publicKey' },
    { kind: 'bytes' },
    { kind: 'unit' },
    { kind: 'string', encoding: 'utf8' },
    { kind: 'string', encoding: 'base58' },
    { kind: 'string', encoding: 'base64' },
    { kind: 'defined', name: 'self' },
    { kind: 'defined', name: 'missing' },
  ),
);
const counts = fc.oneof(
  fc.nat(1_000_000),
  fc.constant('remainder' as const),
  fc.record({ prefix: prefixes }),
);
const moves = fc.record({
  from: fc.constantFrom('here', 'start', 'value'),
  by: fc.integer({ min: -20, max: 20 }),
});
const name = fc.string({ maxLength: 5 });

/** Types that no real program has are among them: without bytes, or without an end. */
export const { type: arbitraryType } = fc.letrec<{ type: IdlType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaves,
    fc.record({
      kind: fc.constant('sized'),
      size: fc.oneof(fc.nat(40), prefixes),
      item: tie('type'),
    }),
    fc.record({
      kind: fc.constant('terminated'),
      sentinel: fc.uint8Array({ maxLength: 2 }),
      item: tie('type'),
    }),
    fc.record({ kind: fc.constant('array'), count: counts, item: tie('type') }),
    fc.record({ kind: fc.constant('map'), count: counts, key: tie('type'), value: tie('type') }),
    fc.record({
      kind: fc.constant('option'),
      prefix: prefixes,
      item: tie('type'),
      isFixed: fc.boolean(),
    }),
    fc.record({ kind: fc.constantFrom('remainderOption', 'zeroable'), item: tie('type') }),
    fc.record({
      kind: fc.constant('struct'),
      fields: fc.array(fc.record({ name, type: tie('type') }), { maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('tuple'), items: fc.array(tie('type'), { maxLength: 3 }) }),
    fc.record({
      kind: fc.constant('enum'),
      size: prefixes,
      variants: fc.array(fc.record({ name, number: fc.nat(3), type: tie('type') }), {
        maxLength: 3,
      }),
    }),
    fc.record({ kind: fc.constant('moved'), before: moves, after: moves, item: tie('type') }),
    fc.record({
      kind: fc.constant('hidden'),
      before: fc.nat(3),
      after: fc.nat(3),
      item: tie('type'),
    }),
  ) as fc.Arbitrary<IdlType>,
}));
