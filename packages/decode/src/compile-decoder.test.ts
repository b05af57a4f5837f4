/** Compares the kernel with the decoder of the host, which defines the texts. */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeBase58 } from '@sluice/base/base58';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILTIN_PROGRAMS } from './builtin/builtin-programs.ts';
import { decoderFor } from './compile-decoder.ts';
import { IdlRegistry, readRegistered } from './idl-registry.ts';
import { describeUnknown, ProgramDecoder, rangeOf } from './program-decoder.ts';
import {
  type IdlAccount,
  type IdlType,
  integer,
  type ProgramDescription,
  u8,
} from './program-description.ts';
import { arbitraryType } from './testing/arbitrary-type.ts';
import { KernelRows } from './testing/kernel-rows.ts';

const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
/** More on demand: `FUZZ_RUNS=100000`. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 1_000);
const kernel = new KernelRows();

const keyOf = (byte: number) => new Uint8Array(32).fill(byte);
const textOf = (key: Uint8Array) => JSON.stringify(encodeBase58(key));
const keys = fc.array(fc.integer({ min: 1, max: 6 }).map(keyOf), { maxLength: 8 });

function describeOne(type: IdlType, accounts: readonly IdlAccount[] = []): ProgramDescription {
  const fields = [{ name: 'value', type }];
  const instruction = { name: 'set', discriminators: [], fieldsAt: 0, fields, accounts };
  const types = new Map([['self', type]]);
  return { address, name: 'fuzz', instructions: [instruction], events: [], types };
}

/** Returns the text of the host, and that of the kernel or why it has none. */
function decodeBoth(
  description: ProgramDescription,
  data: Uint8Array,
  accounts: readonly Uint8Array[] = [],
): { readonly host: string; readonly kernel: string } {
  const host = new ProgramDecoder(description);
  const texts = accounts.map(textOf);
  return {
    host: host.decodeInstruction(rangeOf(data), texts, ''),
    kernel: kernel.instruction({ decoder: decoderFor(description), data, accounts }),
  };
}

describe('the kernel', () => {
  test('property: random bytes of a random type give the text of the host, or are left to the host', () => {
    const count = { kernel: 0, host: 0, errors: 0 };
    fc.assert(
      fc.property(arbitraryType, fc.uint8Array({ maxLength: 200 }), (type, data) => {
        const texts = decodeBoth(describeOne(type), data);
        if (texts.kernel !== 'host') expect(texts.kernel).toBe(texts.host);
        if (texts.host.startsWith('{"program":"fuzz","name":"set","error"')) count.errors++;
        else count[texts.kernel === 'host' ? 'host' : 'kernel']++;
      }),
      { numRuns },
    );
    // Of what can be decoded, the host decodes rare types, and texts that are not ASCII.
    expect(count.kernel).toBeGreaterThan(numRuns / 20);
    expect(count.host).toBeLessThan(count.kernel);
  });

  const integers = [1, 2, 4, 8, 16, 32].flatMap((byteCount) =>
    [false, true].flatMap((isSigned) =>
      [false, true].map((isBigEndian) => integer(byteCount, isSigned, isBigEndian)),
    ),
  );
  const edges = [0n, 1n, 9n, 10n, 99n, 255n, 256n, 10n ** 9n, 10n ** 18n - 1n, 10n ** 18n].concat(
    [7n, 8n, 15n, 16n, 31n, 32n, 52n, 53n, 54n, 63n, 64n, 127n, 128n, 255n].flatMap((bits) => [
      2n ** bits - 1n,
      2n ** bits,
      2n ** bits + 1n,
    ]),
  );

  test.each(integers)('behavior: writes the edges of %o as the host', (type) => {
    if (type.kind !== 'integer') return;
    for (const edge of edges.flatMap((value) => [value, -value])) {
      const hex = BigInt.asUintN(type.bytes * 8, edge)
        .toString(16)
        .padStart(type.bytes * 2, '0');
      const data = Buffer.from(hex, 'hex');
      if (!type.isBigEndian) data.reverse();
      const texts = decodeBoth(describeOne(type), data);
      expect(texts.kernel).toBe(texts.host);
    }
  });

  test('property: escapes texts as the host', () => {
    const text = fc.string({ unit: fc.nat(0x7f).map((code) => String.fromCharCode(code)) });
    fc.assert(
      fc.property(text, fc.string({ unit: 'grapheme' }), (ascii, other) => {
        const type = { kind: 'string', encoding: 'utf8' } as const;
        const texts = decodeBoth(describeOne(type), Buffer.from(ascii));
        expect(texts.kernel).toBe(texts.host);
        const others = decodeBoth(describeOne(type), Buffer.from(other));
        if (others.kernel !== 'host') expect(others.kernel).toBe(others.host);
      }),
    );
  });

  test('property: names accounts as the host', () => {
    const account = fc.record(
      {
        name: fc.string({ maxLength: 30 }),
        absent: fc.constantFrom('program' as const, 'omitted' as const),
        address: fc.integer({ min: 1, max: 6 }).map((byte) => encodeBase58(keyOf(byte))),
      },
      { requiredKeys: ['name'] },
    );
    fc.assert(
      fc.property(fc.array(account, { maxLength: 6 }), keys, (accounts, passed) => {
        const description = {
          ...describeOne({ kind: 'unit' }, accounts),
          address: encodeBase58(keyOf(1)),
        };
        const texts = decodeBoth(description, Uint8Array.of(1, 2, 3), passed);
        expect(texts.kernel).toBe(texts.host);
      }),
      { numRuns },
    );
  });

  test('property: decodes damaged instructions of known programs as the host', () => {
    const folder = new URL('../../../docs/idl/', import.meta.url);
    const registered = readdirSync(folder).flatMap((name) =>
      readRegistered({ name, text: readFileSync(new URL(name, folder), 'utf8') }),
    );
    const programs = [...BUILTIN_PROGRAMS, ...registered];
    // Events need more than an instruction; `row-decoder.test.ts` of the server has them.
    const descriptions = programs.map((program) => ({ ...program, events: [] }));
    const byte = fc.oneof(fc.nat(255), fc.nat(2));
    const rest = fc.array(byte, { maxLength: 120 });
    let kernelCount = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...descriptions),
        fc.nat(),
        rest,
        keys,
        (description, n, more, passed) => {
          const { instructions } = description;
          const found = instructions[n % instructions.length];
          const start = found?.discriminators.find(({ offset }) => offset === 0)?.bytes ?? [];
          const data = Uint8Array.from([...start, ...more]);
          const texts = decodeBoth(description, data, passed);
          if (texts.kernel === 'host') return;
          kernelCount++;
          expect(texts.kernel).toBe(texts.host);
        },
      ),
      { numRuns: numRuns * 3 },
    );
    expect(kernelCount).toBeGreaterThan(numRuns / 2);
  });

  test('behavior: says why it knows neither program nor instruction', () => {
    const data = Uint8Array.of(200, 1, 2);
    const unknown = kernel.instruction({ decoder: decoderFor(undefined), data, accounts: [] });
    expect(unknown).toBe(describeUnknown(rangeOf(data)));
    const system = new IdlRegistry().descriptions('11111111111111111111111111111111')[0];
    if (system === undefined) throw new Error('the program is built in');
    const texts = decodeBoth(system, data);
    expect(texts.kernel).toBe(texts.host);
    expect(texts.host).toContain('the IDL describes no instruction with this data');
  });

  test('limit: the host decodes values with too many parts, types nested too deeply, and long texts', () => {
    const parts = { kind: 'array', count: 20_001, item: { kind: 'unit' } } as const;
    const self: IdlType = { kind: 'tuple', items: [u8, { kind: 'defined', name: 'self' }] };
    const long = { kind: 'bytes' } as const;
    for (const [type, byteCount] of [
      [parts, 0],
      [self, 200],
      [long, 70_000],
    ] as const) {
      const texts = decodeBoth(describeOne(type), new Uint8Array(byteCount));
      expect(texts.kernel).toBe('host');
    }
    const nested = Array.from({ length: 300 }).reduce<IdlType>(
      (item) => ({ kind: 'remainderOption', item }),
      u8,
    );
    expect(decodeBoth(describeOne(nested), Uint8Array.of(7)).kernel).toBe('host');
  });

  test('property: a text that does not fit is not written, whatever the space is', () => {
    fc.assert(
      fc.property(
        arbitraryType,
        fc.uint8Array({ maxLength: 60 }),
        fc.nat(600),
        (type, data, capacity) => {
          const decoder = decoderFor(describeOne(type));
          const text = kernel.instruction({ decoder, data, accounts: [], capacity });
          if (text === 'full' || text === 'host') return;
          expect(text).toBe(kernel.instruction({ decoder, data, accounts: [] }));
        },
      ),
      { numRuns },
    );
  });

  test('limit: a decoder that is too large, or has sizes that do not fit, leaves everything to the host', () => {
    const name = 'x'.repeat(1 << 20);
    const large = { ...describeOne(u8), name };
    expect(decodeBoth(large, Uint8Array.of(1)).kernel).toBe('host');
    const [instruction] = describeOne(u8).instructions;
    if (instruction === undefined) throw new Error('there is one');
    for (const odd of [{ byteLength: 2 ** 32 }, { fieldsAt: 2 ** 40 }, { byteLength: 1.5 }]) {
      const description = { ...describeOne(u8), instructions: [{ ...instruction, ...odd }] };
      expect(decodeBoth(description, Uint8Array.of(1)).kernel).toBe('host');
    }
  });
});
