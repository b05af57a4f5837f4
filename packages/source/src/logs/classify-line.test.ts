import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyLine, lineClass } from './classify-line.ts';

const id = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** The forms of lines as patterns. The first one that matches the whole line wins. */
const patterns: readonly (readonly [RegExp, number])[] = [
  [/^Program [1-9A-HJ-NP-Za-km-z]{32,44} invoke \[\d+\]$/, lineClass.invoke],
  [/^Program [1-9A-HJ-NP-Za-km-z]{32,44} success$/, lineClass.success],
  [/^Program [1-9A-HJ-NP-Za-km-z]{32,44} failed: .*$/s, lineClass.failed],
  [/^Program log: .*$/s, lineClass.log],
  [/^Program data: .*$/s, lineClass.data],
  [
    /^Program [1-9A-HJ-NP-Za-km-z]{32,44} consumed \d{1,19} of \d+ compute units$/,
    lineClass.consumed,
  ],
  [/^Log truncated$/, lineClass.mark],
];

function classifyByPattern(line: string): number {
  return patterns.find(([pattern]) => pattern.test(line))?.[1] ?? lineClass.other;
}

const parts = fc.constantFrom(
  'Program ',
  'Program',
  id,
  '1'.repeat(32),
  '1'.repeat(31),
  '1'.repeat(45),
  `${id.slice(1)}0`,
  ' ',
  'log: ',
  'log:',
  'data: ',
  'invoke [',
  '1',
  '12345678901234567890',
  ']',
  'success',
  'failed: ',
  'failed:',
  'consumed ',
  ' of ',
  '200000',
  ' compute units',
  'Log truncated',
  'return: ',
  '\n',
  '\r',
  '\u2028',
  'Call BPF program ',
);

test('property: a line has the class that the patterns give it', () => {
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 9 }),
      fc.constantFrom(id, '1'.repeat(32)),
      (line, likely) => {
        const text = line.join('');
        // Twenty digits may exceed 64 bits, which the pattern cannot check.
        fc.pre(!/consumed \d{20} /.test(text));
        expect(classifyLine(text, likely)).toBe(classifyByPattern(text));
      },
    ),
    { numRuns: 20_000 },
  );
});

test('default: the forms of real lines are recognized', () => {
  const lines: readonly (readonly [string, number])[] = [
    [`Program ${id} invoke [1]`, lineClass.invoke],
    [`Program ${id} invoke [12]`, lineClass.invoke],
    [`Program ${id} invoke []`, lineClass.other],
    [`Program ${id} invoke [1] `, lineClass.other],
    [`Program ${id} success`, lineClass.success],
    [`Program ${id} success\n`, lineClass.other],
    [`Program ${id} failed: custom program error: 0x1`, lineClass.failed],
    [`Program ${id} failed: `, lineClass.failed],
    [`Program ${id} failed`, lineClass.other],
    ['Program log: ', lineClass.log],
    ['Program log:', lineClass.other],
    [`Program log: Program ${id} success`, lineClass.log],
    ['Program log: Log truncated', lineClass.log],
    ['Program data: AQID', lineClass.data],
    [`Program ${id} consumed 3164 of 157338 compute units`, lineClass.consumed],
    [`Program ${id} consumed 18446744073709551615 of 1 compute units`, lineClass.consumed],
    [`Program ${id} consumed 18446744073709551616 of 1 compute units`, lineClass.other],
    [`Program ${id} consumed x of 1 compute units`, lineClass.other],
    ['Program return: abc AQ==', lineClass.other],
    ['Program consumption: 1 units remaining', lineClass.other],
    ['Log truncated', lineClass.mark],
    ['Log truncated ', lineClass.other],
    ['Call BPF program abc', lineClass.other],
    ['', lineClass.other],
  ];
  for (const [line, expected] of lines) expect(classifyLine(line, id), line).toBe(expected);
});
