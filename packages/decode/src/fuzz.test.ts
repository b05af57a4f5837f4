/** Decodes random bytes by random types, and reads damaged IDLs. Nothing may throw, and every text must be JSON. */
import { readdirSync, readFileSync } from 'node:fs';
import { isCodedError } from '@sluice/base/errors';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdlRegistry } from './idl-registry.ts';
import { ProgramDecoder, rangeOf } from './program-decoder.ts';
import { arbitraryType } from './testing/arbitrary-type.ts';

const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
/** More on demand: `FUZZ_RUNS=100000`. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 1_000);

test('property: random bytes of a random type give JSON with the values or with the reason and all bytes', () => {
  fc.assert(
    fc.property(arbitraryType, fc.uint8Array({ maxLength: 200 }), (type, data) => {
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
