import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonPrinter } from './json-printer.ts';
import { type TextList, TextPool } from './text-pool.ts';

const pool = new TextPool();
const printer = new JsonPrinter(pool);

/** What is asked of the printer, and the same in plain texts. */
interface Part {
  readonly expected: string;
  readonly order: () => void;
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constantFrom('', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), 'y'.repeat(5_000)),
);
const number = fc.oneof(fc.nat(255), fc.constantFrom(0, 9, 10, 99, 100, 2 ** 28 - 1));
const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((value) => ({ expected: value, order: () => printer.string(value) })),
  text.map((value) => {
    return { expected: value, order: () => printer.text(pool.passing.add(value)) };
  }),
  number.map((value) => ({ expected: `${value}`, order: () => printer.number(value) })),
  fc.array(fc.nat(255), { maxLength: 20 }).map((values) => {
    const order = () => printer.numbers(pool.passing.addNumbers(values));
    return { expected: values.join(','), order };
  }),
  fc.array(text, { maxLength: 5 }).map((values) => {
    return { expected: values.join(','), order: () => printer.texts(pooled(values)) };
  }),
  fc.array(text, { maxLength: 5 }).map((values) => {
    const order = () =>
      printer.quoted(pooled(['before', ...values, 'after']), 1, values.length + 1);
    return { expected: values.join('","'), order };
  }),
);

function pooled(texts: readonly string[]): TextList {
  return pool.passing.addList(texts.map((value) => pool.passing.add(value)));
}

function finish(): string {
  const bytes = printer.finish(Buffer.alloc);
  return Buffer.from(bytes).toString();
}

describe('json-printer', () => {
  test('property: what was ordered comes out in its order', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        printer.begin();
        for (const { order } of parts) {
          order();
          printer.forgetStrings();
        }
        expect(finish()).toBe(parts.map(({ expected }) => expected).join(''));
      }),
      { numRuns: 300 },
    );
  });

  test('limit: more orders than the list holds, and more bytes than the output', () => {
    printer.begin();
    const line = pool.lasting.add('0123456789'.repeat(200));
    const list = pool.lasting.addList([line, pool.lasting.add('end')]);
    for (let i = 0; i < 40_000; i++) {
      if (i % 4 === 0) printer.text(line);
      else printer.number(i);
      if (i % 7 === 0) printer.quoted(list, 1, 2);
    }
    const expected = Array.from({ length: 40_000 }, (_, i) => {
      return `${i % 4 === 0 ? '0123456789'.repeat(200) : i}${i % 7 === 0 ? 'end' : ''}`;
    });
    const printed = finish();
    expect(printed.length).toBeGreaterThan(16 * 1024 * 1024);
    expect(printed === expected.join('')).toBe(true);
  });

  test('behavior: what was not finished is forgotten', () => {
    printer.begin();
    printer.string('abandoned');
    printer.flush();
    printer.number(7);
    printer.begin();
    printer.number(8);
    expect(finish()).toBe('8');
  });
});
