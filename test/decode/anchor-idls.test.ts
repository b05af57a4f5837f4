/** Compares the decoders of Sluice with Codama's own, on the simulated ledger and on every type that an IDL of Anchor can have. */
import { readdirSync, readFileSync } from 'node:fs';
import { decodeBase58 } from '@sluice/base/base58';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { isEventCall, ProgramDecoder, rangeOf } from '@sluice/decode/program-decoder';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../packages/simulator/src/testing/simulated-blocks.ts';
import { codamaDecoder, toSluice, withCamelCase } from './codama-decoder.ts';
import { EVERY_TYPE_IDL, EVERY_TYPE_LEGACY_IDL } from './every-type-idl.ts';

const folder = new URL('../../docs/idl/', import.meta.url);
const texts = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

interface Decoded {
  readonly program: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly accounts: Readonly<Record<string, string>>;
  readonly remaining: readonly string[];
}

const bytesOf = (data: string) =>
  data === '' ? new Uint8Array(0) : (decodeBase58(data) ?? new Uint8Array(0));
const parse = (text: string) => JSON.parse(text) as Decoded;

describe('IDLs of the simulated programs', () => {
  const registry = new IdlRegistry(texts.map((text, i) => ({ name: `${i}`, text })));
  const codama = new Map(
    texts.map((text) => {
      const idl = JSON.parse(text) as { readonly address: string };
      return [idl.address, codamaDecoder(idl)] as const;
    }),
  );
  const blocks = simulatedBlocks({
    content: { transactionsPerBlock: 40, failureRate: 0.1 },
    blockCount: 20,
    skipRate: 0,
  });

  test('property: every instruction has the arguments that Codama decodes, and all its accounts by name', () => {
    let count = 0;
    for (const { programId, data, accounts } of blocks.flatMap(
      ({ instructions }) => instructions,
    )) {
      const oracle = codama.get(programId);
      const range = rangeOf(bytesOf(data));
      const decoder = registry.find(programId, 1);
      if (oracle === undefined || decoder === undefined || isEventCall(range)) continue;
      const decoded = parse(
        decoder.decodeInstruction(
          range,
          accounts.map((each) => JSON.stringify(each)),
          '',
        ),
      );
      expect(withCamelCase(decoded.args)).toEqual(
        oracle.decodeInstruction(decoded.name, bytesOf(data)),
      );
      expect(
        [...Object.values(decoded.accounts), ...decoded.remaining].filter((each) => each !== null),
      ).toEqual(accounts);
      count++;
    }
    expect(count).toBeGreaterThan(500);
  });

  test('property: every event of a log line or of a call has the values that Codama decodes', () => {
    const counts = { log: 0, call: 0 };
    const check = (programId: string, data: Uint8Array, kind: keyof typeof counts) => {
      const oracle = codama.get(programId);
      if (oracle === undefined) return;
      const decoded = parse(registry.find(programId, 1)?.decodeEvent(rangeOf(data)) ?? '');
      expect(withCamelCase(decoded.args)).toEqual(oracle.decodeEvent(decoded.name, data));
      counts[kind]++;
    };
    for (const { instructions, logs } of blocks) {
      for (const { programId, kind, message } of logs)
        if (kind === 'data') check(programId, Buffer.from(message, 'base64'), 'log');
      for (const { programId, data } of instructions) {
        const bytes = bytesOf(data);
        if (isEventCall(rangeOf(bytes))) check(programId, bytes.subarray(8), 'call');
      }
    }
    expect(counts.log).toBeGreaterThan(50);
    expect(counts.call).toBeGreaterThan(50);
  });
});

describe('every type of Anchor', () => {
  const oracle = codamaDecoder(EVERY_TYPE_IDL);
  const text = (idl: unknown) => JSON.stringify(idl);
  const forms = {
    'since 0.30': text(EVERY_TYPE_IDL),
    'before 0.30': text(EVERY_TYPE_LEGACY_IDL),
    Codama: oracle.idl,
  };
  const [{ discriminator: start } = { discriminator: [] }] = EVERY_TYPE_IDL.instructions;
  const discriminator = ['base16', Buffer.from(start).toString('hex')];
  const integer = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
  const signed = (bits: number) =>
    fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n });
  const small = (max: number) => fc.integer({ min: 0, max });
  const point = fc.record({ x: signed(64), label: fc.string({ maxLength: 20 }) });
  const shape = fc.oneof(
    fc.constant({ __kind: 'Empty' }),
    fc.record({ __kind: fc.constant('Round'), radius: integer(64) }),
    fc.record({ __kind: fc.constant('Pair'), fields: fc.tuple(small(255), fc.boolean()) }),
  );
  const values = fc.record({
    a: small(255),
    b: fc.integer({ min: -32_768, max: 32_767 }),
    c: small(0xffff_ffff),
    d: integer(64),
    e: integer(128),
    f: signed(128),
    g: fc.double({ noNaN: true, noDefaultInfinity: true }),
    h: fc.boolean(),
    i: fc.constant(address),
    j: fc
      .uint8Array({ maxLength: 30 })
      .map((bytes) => ['base16', Buffer.from(bytes).toString('hex')]),
    k: fc.option(integer(64)),
    l: fc.array(point, { maxLength: 5 }),
    m: fc.array(small(65_535), { minLength: 3, maxLength: 3 }),
    n: shape,
    o: fc.string({ unit: 'grapheme', maxLength: 20 }).filter((each) => !each.includes('\0')),
  });

  test.each(Object.entries(forms))(
    'property: an IDL of the form %s decodes what Codama encodes',
    (_form, idl) => {
      const registry = new IdlRegistry([{ name: 'every type', text: idl, programId: address }]);
      const decoder = registry.find(address, 0);
      fc.assert(
        fc.property(values, (args) => {
          const data = oracle.encode('everything', { discriminator, ...args });
          const decoded = parse(decoder?.decodeInstruction(rangeOf(data), [], '') ?? '');
          expect(decoded.name).toBe('everything');
          expect(JSON.stringify(withVariants(decoded.args))).toBe(
            JSON.stringify(withVariants(toSluice(oracle.decodeInstruction('everything', data)))),
          );
          expect(decoder).toBeInstanceOf(ProgramDecoder);
        }),
        { numRuns: 300 },
      );
    },
  );
});

/** The forms spell the names of variants differently. */
function withVariants(value: unknown): unknown {
  const name = (each: string) => (/^(empty|round|pair)$/i.test(each) ? each.toLowerCase() : each);
  if (typeof value === 'string') return name(value);
  if (Array.isArray(value)) return value.map(withVariants);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [name(key), withVariants(each)]),
  );
}
