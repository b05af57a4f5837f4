import { encodeBase58 } from '@sluice/base/base58';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addList, addNumbers } from '../testing/read-pool.ts';
import { JsonPrinter, ORDER } from './json-printer.ts';
import {
  type AmountList,
  HEADER_BYTES,
  type PooledText,
  type TextList,
  TextPool,
} from './text-pool.ts';

const pool = new TextPool();
const printer = new JsonPrinter(pool);

/** A call of the printer, and the text that it should print. */
interface Part {
  readonly expected: string;
  readonly order: () => void;
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constantFrom('', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), 'y'.repeat(5_000)),
);
const number = fc.oneof(fc.nat(255), fc.constantFrom(0, 9, 10, 99, 100, 2 ** 28 - 1));
const amount = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 1n, 10n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 64n - 1n, 10n ** 15n),
);
const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((value) => ({ expected: value, order: () => printer.string(value) })),
  text.map((value) => {
    return { expected: value, order: () => printer.text(pool.passing.add(value)) };
  }),
  number.map((value) => ({ expected: `${value}`, order: () => printer.number(value) })),
  fc.array(fc.nat(255), { maxLength: 20 }).map((values) => {
    const order = () => printer.numbers(addNumbers(pool, values));
    return { expected: values.join(','), order };
  }),
  fc.array(amount, { maxLength: 5 }).map((values) => {
    return { expected: values.join(','), order: () => printer.amounts(amounts(values)) };
  }),
  fc.tuple(amount, fc.nat(9), fc.boolean()).map(([value, decimals, isDouble]) => {
    const order = () => printer.shown(amounts([value]), decimals, isDouble);
    return { expected: show(value, decimals, isDouble), order };
  }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => {
    const order = () => printer.base58(addNumbers(pool, [...bytes]) as number as PooledText);
    return { expected: encodeBase58(bytes), order };
  }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => {
    const order = () => {
      const place = addNumbers(pool, [...bytes]) as number as PooledText;
      printer.orders(Int32Array.of(ORDER.base64(place)), 0, 1);
    };
    return { expected: Buffer.from(bytes).toString('base64'), order };
  }),
  fc.array(text, { maxLength: 5 }).map((values) => {
    const order = () =>
      printer.quoted(pooled(['before', ...values, 'after']), 1, values.length + 1);
    return { expected: values.join('","'), order };
  }),
);

function amounts(values: readonly bigint[]): AmountList {
  const list = pool.passing.openAmounts(values.length);
  values.forEach((value, i) => {
    if (value < 2n ** 53n) pool.passing.setAmount(list, i, Number(value));
    else pool.bytes.writeBigUInt64LE(value, list + HEADER_BYTES + i * 8);
  });
  return list;
}

/** Formats an amount in whole tokens without trailing zeros. As a double, a whole number has a decimal point. */
function show(amount: bigint, decimals: number, isDouble: boolean): string {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const part = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  if (part === '') return isDouble ? `${whole}.0` : whole;
  return `${whole}.${part}`;
}

function pooled(texts: readonly string[]): TextList {
  return addList(
    pool,
    texts.map((value) => pool.passing.add(value)),
  );
}

function finish(): string {
  const bytes = printer.finish();
  return Buffer.from(bytes).toString();
}

describe('json-printer', () => {
  test('property: texts are printed in the order of the calls', () => {
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

  test('limit: the list of orders and the output may be larger than their buffers', () => {
    printer.begin();
    const line = pool.lasting.add('0123456789'.repeat(200));
    const list = addList(pool, [line, pool.lasting.add('end')]);
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

  test('behavior: the part that was printed last can be moved to an earlier position', () => {
    printer.begin();
    printer.string('head|');
    const to = printer.position();
    const line = pool.lasting.add('0123456789'.repeat(1000));
    // The text is larger than the output memory.
    for (let i = 0; i < 2000; i++) printer.text(line);
    const from = printer.position();
    printer.string('|moved|');
    const printed = Buffer.from(printer.finish({ to, from })).toString();
    expect(printed === `head||moved|${'0123456789'.repeat(2_000_000)}`).toBe(true);
  });

  test('behavior: unfinished output is discarded', () => {
    printer.begin();
    printer.string('abandoned');
    printer.flush();
    printer.number(7);
    printer.begin();
    printer.number(8);
    expect(finish()).toBe('8');
  });
});
