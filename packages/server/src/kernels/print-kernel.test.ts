import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { KernelUnderTest } from './testing/kernel-memory.ts';

interface PrintExports {
  print(at: number, end: number, out: number, limit: number): number;
  stoppedAt(): number;
}

const kernel = new KernelUnderTest<PrintExports>('print');
beforeEach(() => kernel.reset());

const codes = { text: 0, textComma: 1, textQuotes: 2, number: 3, numberComma: 4 } as const;
type Code = keyof typeof codes;
interface Order {
  readonly code: Code;
  readonly text: string;
  readonly number: number;
}

const orders = fc.array(
  fc.record({
    code: fc.constantFrom<Code>('text', 'textComma', 'textQuotes', 'number', 'numberComma'),
    text: fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 70 }),
      fc.nat(70).map((length) => 'z'.repeat(length)),
    ),
    number: fc.oneof(fc.nat(300), fc.nat(2 ** 28 - 1)),
  }),
  { maxLength: 40 },
);

function printPlainly({ code, text, number }: Order): string {
  if (code === 'text') return text;
  if (code === 'textComma') return `${text},`;
  if (code === 'textQuotes') return `${text}","`;
  return code === 'number' ? `${number}` : `${number},`;
}

/** Length and bytes. */
function placeText(text: string): number {
  const bytes = Buffer.from(text, 'latin1');
  const header = Buffer.alloc(4);
  header.writeUInt32LE(bytes.length);
  return kernel.bytes(Buffer.concat([header, bytes]));
}

function placeOrders(list: readonly Order[]): { start: number; end: number } {
  const words = list.map(({ code, text, number }) => {
    return (code.startsWith('text') ? placeText(text) : number * 8) + codes[code];
  });
  const start = kernel.ints(words);
  return { start, end: start + words.length * 4 };
}

test('property: orders are carried out as plain code does, and nothing is written beyond the slack', () => {
  fc.assert(
    fc.property(orders, (list) => {
      kernel.reset();
      const { start, end } = placeOrders(list);
      const expected = list.map(printPlainly).join('');
      const out = kernel.room(expected.length + 64);
      const outEnd = kernel.exports.print(start, end, out, out + expected.length + 1);
      expect(kernel.readText(out, outEnd)).toBe(expected);
      expect(kernel.exports.stoppedAt()).toBe(end);
      expect(kernel.isUntouched(outEnd + 16, 32)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('property: printing that stops at the limit goes on where it stopped', () => {
  fc.assert(
    fc.property(orders, fc.integer({ min: 1, max: 200 }), (list, room) => {
      kernel.reset();
      const { start, end } = placeOrders(list);
      const out = kernel.room(room + 128);
      let printed = '';
      for (let at = start; at < end; at = kernel.exports.stoppedAt()) {
        const outEnd = kernel.exports.print(at, end, out, out + room);
        printed += kernel.readText(out, outEnd);
      }
      expect(printed).toBe(list.map(printPlainly).join(''));
    }),
    { numRuns: 300 },
  );
});
