import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LastLine } from '../../bench/first-scan/last-line.ts';

const line = (number: number, padding: number) =>
  `{"header":{"number":${number}},"logs":["${'x'.repeat(padding)}"]}\n`;

test('property: the last complete line is found for any chunks of the text', () => {
  const lines = fc.array(fc.tuple(fc.nat(), fc.nat(200)), { maxLength: 5 });
  const cuts = fc.array(fc.nat(1_500), { maxLength: 8 });
  fc.assert(
    fc.property(lines, cuts, fc.nat(300), (rows, places, tail) => {
      const rest = line(7, 300).slice(0, tail);
      const text = Buffer.from(
        rows.map(([number, padding]) => line(number, padding)).join('') + rest,
      );
      const last = new LastLine();
      const ends = [...places.sort((a, b) => a - b), text.length];
      let start = 0;
      for (const end of ends) {
        if (end > start) last.push(text.subarray(start, end));
        start = Math.max(start, end);
      }
      expect(last.number()).toBe(rows.at(-1)?.[0]);
    }),
  );
});
