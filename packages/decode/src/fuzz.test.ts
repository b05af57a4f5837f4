/** Decodes random bytes by random types, and reads damaged IDLs. Nothing may throw, and every text must be JSON. */
import { readdirSync, readFileSync } from 'node:fs';
import { isCodedError } from '@sluice/base/errors';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdlRegistry } from './idl-registry.ts';
import { ProgramDecoder, rangeOf } from './program-decoder.ts';
import { type IdlType, integer, u8, u32 } from './program-description.ts';

const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
/** More on demand: `FUZZ_RUNS=100000`. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 1_000);

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

const { type: types } = fc.letrec<{ type: IdlType }>((tie) => ({
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

test('property: random bytes of a random type give JSON with the values or with the reason and all bytes', () => {
  fc.assert(
    fc.property(types, fc.uint8Array({ maxLength: 200 }), (type, data) => {
      const instruction = {
        name: 'set',
        discriminators: [],
        fieldsAt: 0,
        fields: [{ name: 'value', type }],
        accounts: [],
      };
      const description = {
        address,
        name: 'fuzz',
        instructions: [instruction],
        events: [],
        types: new Map([['self', type]]),
      };
      const text = new ProgramDecoder(description).decodeInstruction(rangeOf(data), [], '');
      const decoded = JSON.parse(text) as Record<string, unknown>;
      if ('error' in decoded) expect(decoded['raw']).toBe(`0x${Buffer.from(data).toString('hex')}`);
      else expect(decoded['args']).toHaveProperty('value');
      expect(text.length).toBeLessThan(4 << 20);
    }),
    { numRuns },
  );
});

test('property: random bytes for the built-in programs give JSON', () => {
  const registry = new IdlRegistry();
  const programs = [
    '11111111111111111111111111111111',
    'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
    'Vote111111111111111111111111111111111111111',
  ];
  const start = fc
    .tuple(fc.nat(46), fc.constantFrom([], [0], [0, 0, 0]))
    .map(([first, rest]) => [first, ...rest]);
  fc.assert(
    fc.property(
      fc.constantFrom(...programs),
      start,
      fc.uint8Array({ maxLength: 100 }),
      (program, first, rest) => {
        const data = Uint8Array.from([...first, ...rest]);
        const text =
          registry.find(program, 0)?.decodeInstruction(rangeOf(data), ['"a"', '"b"'], '') ?? '';
        expect(() => JSON.parse(text) as unknown).not.toThrow();
      },
    ),
    { numRuns },
  );
});

test('property: a damaged IDL is refused with a code or used', () => {
  const folder = new URL('../../../docs/idl/', import.meta.url);
  const texts = readdirSync(folder).map((file) =>
    JSON.stringify(JSON.parse(readFileSync(new URL(file, folder), 'utf8'))),
  );
  const parts = [
    '{}',
    '[]',
    'null',
    '"u64"',
    '-1',
    '1e9',
    '"defined"',
    '{"vec":"u8"}',
    '{"defined":{"name":"SwapEvent"}}',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...texts),
      fc.nat(),
      fc.constantFrom(...parts),
      (text, at, part) => {
        // Replaces one value of the JSON.
        const values = [...text.matchAll(/:("[^"]*"|\d+|true|\[[^[\]{}]*\])/g)];
        const value = values[at % values.length];
        if (value === undefined) return;
        const damaged = `${text.slice(0, value.index + 1)}${part}${text.slice(value.index + value[0].length)}`;
        try {
          const registry = new IdlRegistry([
            { name: 'damaged', text: damaged, programId: address },
          ]);
          const decoded = registry
            .find(address, 0)
            ?.decodeInstruction(
              rangeOf(Uint8Array.of(248, 198, 158, 145, 225, 117, 135, 200, 1)),
              [],
              '',
            );
          expect(() => JSON.parse(decoded ?? '') as unknown).not.toThrow();
        } catch (error) {
          if (!isCodedError(error)) throw error;
        }
      },
    ),
    { numRuns },
  );
});
