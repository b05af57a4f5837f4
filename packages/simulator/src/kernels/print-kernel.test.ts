import { encodeBase58 } from '@sluice/base/base58';
import { instantiateKernel } from '@sluice/base/wasm-kernel';
import { workerUrl } from '@sluice/base/worker-url';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { KernelUnderTest } from '../../../kernels/src/testing/kernel-memory.ts';

interface PrintExports {
  print(at: number, end: number, out: number, limit: number): number;
  stoppedAt(): number;
}

const kernel = new KernelUnderTest(
  instantiateKernel<PrintExports>(workerUrl(import.meta.url, './print.wasm')),
);
beforeEach(() => kernel.reset());

const codes = {
  text: 0,
  number: 1,
  numbers: 2,
  amounts: 3,
  quoted: 4,
  base58: 5,
  base64: 6,
} as const;
type Code = keyof typeof codes;
interface Order {
  readonly code: Code;
  readonly number: number;
  readonly numbers: readonly number[];
  /** The first one is used by orders that print a single text. */
  readonly texts: readonly [string, ...string[]];
  /** The printed range of the texts, as fractions, so that an empty range is as likely as a full one. */
  readonly startShare: number;
  readonly endShare: number;
}

const text = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 70 }),
  fc.nat(70).map((length) => 'z'.repeat(length)),
);
const share = fc.constantFrom(0, 0.5, 1);
const orders = fc.array(
  fc.record({
    code: fc.constantFrom(...(Object.keys(codes) as Code[])),
    number: fc.oneof(fc.nat(300), fc.nat(2 ** 28 - 1)),
    numbers: fc.array(fc.nat(255), { maxLength: 8 }),
    texts: fc.tuple(text, text, text),
    startShare: share,
    endShare: share,
  }),
  { maxLength: 40 },
);

function rangeOf({ texts, startShare, endShare }: Order): { start: number; end: number } {
  return {
    start: Math.floor(startShare * texts.length),
    end: Math.floor(endShare * texts.length),
  };
}

function printPlainly(order: Order): string {
  const { code, texts, number, numbers } = order;
  const { start, end } = rangeOf(order);
  if (code === 'text') return texts[0];
  if (code === 'number') return `${number}`;
  if (code === 'numbers') return numbers.join(',');
  if (code === 'amounts') return texts.map((value) => BigInt(value.length) << 33n).join(',');
  if (code === 'base58') return encodeBase58(Uint8Array.from(numbers));
  if (code === 'base64') return Buffer.from(numbers).toString('base64');
  return texts.slice(start, end).join('","');
}

/** Stores the length and the bytes. */
function placeBytes(bytes: Uint8Array): number {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(bytes.length);
  return kernel.bytes(Buffer.concat([header, bytes]));
}

function placeText(value: string): number {
  return placeBytes(Buffer.from(value, 'latin1'));
}

function wordsOf(order: Order): number[] {
  const { code, texts, number, numbers } = order;
  if (code === 'text') return [placeText(texts[0]) + codes.text];
  if (code === 'number') return [number * 8 + codes.number];
  if (code === 'amounts') {
    const amounts = BigUint64Array.from(texts, (value) => BigInt(value.length) << 33n);
    return [placeBytes(Buffer.from(amounts.buffer)) + codes.amounts];
  }
  if (code === 'numbers' || code === 'base58' || code === 'base64') {
    return [placeBytes(Uint8Array.from(numbers)) + codes[code]];
  }
  const { start, end } = rangeOf(order);
  const places = Uint32Array.from(texts, placeText);
  return [placeBytes(Buffer.from(places.buffer)) + codes[code], start + end * 65_536];
}

function placeOrders(list: readonly Order[]): { start: number; end: number } {
  const words = list.flatMap(wordsOf);
  const start = kernel.ints(words);
  return { start, end: start + words.length * 4 };
}

test('property: orders print the same as plain code, and nothing is written beyond the slack', () => {
  fc.assert(
    fc.property(orders, (list) => {
      kernel.reset();
      const { start, end } = placeOrders(list);
      const expected = list.map(printPlainly).join('');
      const out = kernel.reserve(expected.length + 64);
      const outEnd = kernel.exports.print(start, end, out, out + expected.length + 1);
      expect(kernel.readText(out, outEnd)).toBe(expected);
      expect(kernel.exports.stoppedAt()).toBe(end);
      expect(kernel.isUntouched(outEnd + 16, 32)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('property: printing that stops at the limit continues where it stopped', () => {
  fc.assert(
    fc.property(orders, fc.integer({ min: 1, max: 200 }), (list, limitBytes) => {
      kernel.reset();
      const { start, end } = placeOrders(list);
      const out = kernel.reserve(limitBytes + 300);
      let printed = '';
      for (let at = start; at < end; at = kernel.exports.stoppedAt()) {
        const outEnd = kernel.exports.print(at, end, out, out + limitBytes);
        printed += kernel.readText(out, outEnd);
      }
      expect(printed).toBe(list.map(printPlainly).join(''));
    }),
    { numRuns: 300 },
  );
});
