import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactJson } from './parse-exact-json.ts';

const parse = (text: string) => parseExactJson(new TextEncoder().encode(text), 64);

function parsed(text: string): unknown {
  const json = parse(text);
  expect(json.kind).toBe('parsed');
  return json.kind === 'parsed' ? json.value : undefined;
}

test('behavior: integers of 16 digits and more become marked text, shorter ones numbers', () => {
  expect(
    parsed('[999999999999999,1000000000000000,18446744073709551615,-9007199254740993]'),
  ).toEqual([
    999999999999999,
    '\u007f1000000000000000',
    '\u007f18446744073709551615',
    '\u007f-9007199254740993',
  ]);
  expect(parsed('12345678901234567')).toBe('\u007f12345678901234567');
  expect(parsed('{"a" : 12345678901234567\n}')).toEqual({ a: '\u007f12345678901234567' });
});

test('behavior: digits in strings, fractions and exponents are unchanged', () => {
  expect(parsed('["12345678901234567890","\\"12345678901234567890"]')).toEqual([
    '12345678901234567890',
    '"12345678901234567890',
  ]);
  for (const text of [
    '[0.12345678901234567,12345678901234567.5,12345678901234567e2,1e1234567890123456]',
    '[1e+0000000000000001,12345678901234567E1,-12345678901234567.25,1E-1234567890123456]',
  ]) {
    expect(parsed(text)).toEqual(JSON.parse(text));
  }
});

test('error: invalid JSON is refused even if it has long digits', () => {
  for (const text of [
    '[00000000000000001234]',
    '[--12345678901234567]',
    '[1-12345678901234567]',
    '[12345678901234567 12345678901234567]',
    '[12345678901234567a]',
    '{12345678901234567:1}',
    '[+12345678901234567]',
    '[a12345678901234567]',
    '12345678901234567"',
    '',
    ' ',
    '[1,]',
    '\ufeff[]',
    '{"a":1',
    'nul',
    '"a\nb"',
  ]) {
    expect(parse(text), text).toEqual({ kind: 'refused', reason: 'not-json' });
  }
});

test('property: accepts and refuses the same input as JSON.parse, with the same result except for long integers', () => {
  const scrap = fc.constantFrom(
    '1234567890123456',
    '0',
    '-',
    '.',
    'e',
    '"',
    '\\',
    ',',
    '[',
    ']',
    ':',
    '{',
    '}',
    ' ',
    'é',
  );
  fc.assert(
    fc.property(fc.array(scrap, { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        expect(parse(text).kind).toBe('refused');
        return;
      }
      expect(JSON.stringify(expected)).toBe(JSON.stringify(revive(parsed(text))));
    }),
    { numRuns: 20_000 },
  );
});

/** Converts marked integers to the numbers that JSON.parse would return. */
function revive(value: unknown): unknown {
  if (typeof value === 'string' && /^\u007f-?\d{16,}$/.test(value)) return Number(value.slice(1));
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, revive(member)]));
  }
  return value;
}

test('error: I-05: lone surrogates are refused, and whole pairs are text', () => {
  for (const text of [
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud83dx\\ude00"',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '"\\uDBFF\\n"',
  ]) {
    expect(parse(text), text).toEqual({ kind: 'refused', reason: 'lone-surrogate' });
  }
  expect(parsed('"\\ud83d\\ude00 \\u0000 \\u2028 \\\\ud800"')).toBe('😀 \u0000 \u2028 \\ud800');
  expect(parsed('"😀\\ud83d\\ude00\\ud83d\\ude00"')).toBe('😀😀😀');
});

test('error: I-05: bytes that are not UTF-8 are refused instead of replaced', () => {
  const bad = [
    [0x80],
    [0xc0, 0x80],
    [0xe2, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xff],
  ];
  for (const bytes of bad) {
    const text = Uint8Array.from([0x22, ...bytes, 0x22]);
    expect(parseExactJson(text, 64)).toEqual({ kind: 'refused', reason: 'not-utf8' });
  }
});

test('limit: depth is checked on the bytes, before parsing', () => {
  expect(parse('['.repeat(65))).toEqual({ kind: 'refused', reason: 'too-deep' });
  expect(parse('['.repeat(64))).toEqual({ kind: 'refused', reason: 'not-json' });
  const million = '{"a":'.repeat(1_000_000);
  expect(parse(million)).toEqual({ kind: 'refused', reason: 'too-deep' });
});

test('behavior: if the source contains the character of the mark, integers get a mark that no text starts with', () => {
  expect(parse('["\u007f1234567890123456",1234567890123456]')).toMatchObject({
    value: ['\u007f1234567890123456', '\u007f0\u007f1234567890123456'],
    mark: '\u007f0\u007f',
  });
  expect(
    parse('{"a":["\\u007F0\u007f1234567890123456",{"b":"\u007f1\\u007f"}],"c":1234567890123456}'),
  ).toMatchObject({
    value: {
      a: ['\u007f0\u007f1234567890123456', { b: '\u007f1\u007f' }],
      c: '\u007f2\u007f1234567890123456',
    },
    mark: '\u007f2\u007f',
  });
  expect(parse('["\\\\u007f"]')).toMatchObject({ kind: 'parsed', mark: '\u007f' });
});

/** Returns the block with every cut-out transaction inserted again. */
function assemble(text: string): unknown {
  const json = parse(text);
  if (json.kind === 'refused') return json;
  if (json.parts === null) return json.value;
  const block = json.value as { transactions: unknown[] };
  const { parts } = json;
  const transactions = block.transactions.flatMap((element) => parts.readAll(element));
  return transactions.includes(undefined)
    ? { kind: 'refused', reason: 'not-json' }
    : { ...block, transactions };
}

const long = 'x'.repeat(600);

test('behavior: cut-out transactions are returned unchanged, with their digits and texts', () => {
  const text = `{"transactions":[{"a":"${long}","b":12345678901234567},{"a":1},{"a":"${long} é 😀","b":[-98765432109876543,"98765432109876543"]}],"c":12345678901234567}`;
  expect(parse(text)).toMatchObject({ parts: expect.anything() });
  expect(assemble(text)).toEqual({
    transactions: [
      { a: long, b: '\u007f12345678901234567' },
      { a: 1 },
      { a: `${long} é 😀`, b: ['\u007f-98765432109876543', '98765432109876543'] },
    ],
    c: '\u007f12345678901234567',
  });
});

test('behavior: cut-out transactions that are separated only by a comma are replaced by a single placeholder', () => {
  const one = `{"a":"${long}"}`;
  const text = `{"transactions":[${one},${one}, ${one},{"a":1},${one},${one}]}`;
  expect(parse(text)).toMatchObject({
    value: { transactions: ['\u007f0', '\u007f1', { a: 1 }, '\u007f2'] },
  });
  expect(assemble(text)).toEqual(JSON.parse(text));
});

test('behavior: large objects elsewhere are never mistaken for transactions', () => {
  for (const text of [
    `{"transactions":[{"a":"${long}"}],"rewards":[{"a":"${long}"}]}`,
    `{"transactions":[{"a":"${long}"}],"transactions":[]}`,
    `{"transactions":{"a":{"b":"${long}"}}}`,
    `{"rewards":[{"a":"${long}"},{"a":"${long}"}],"transactions":[{"a":"${long}"},{"a":"${long}"}]}`,
    `{"other":[{"a":"${long}"}]}`,
    `[[{"a":"${long}"}]]`,
    `{"transactions":[12345678901234567,{"a":"${long}"}]}`,
    `{"transactions":["text",{"a":"${long}"}]}`,
    `{"transactions":["\u007f0",{"a":"${long}"}]}`,
    `{"transactions":["\\u007f0",{"a":"${long}"}]}`,
    `{"transactions":[[{"a":"${long}"}],{"a":"${long}"}]}`,
  ]) {
    const expected = JSON.parse(
      text.replaceAll('[12345678901234567', '["\u007f12345678901234567"'),
    );
    expect(assemble(text), text.replaceAll(long, '…')).toEqual(expected);
  }
});

test('error: invalid JSON inside a transaction or between transactions is refused', () => {
  const good = `{"transactions":[{"a":"${long}"},{"a":"${long}","b":[1,{"c":2}]}]}`;
  expect(assemble(good)).toEqual(JSON.parse(good));
  for (const [from, to] of [
    ['"b":', '"b"'],
    ['[1,', '[1 '],
    ['},{', '}{'],
    ['},{', '},,{'],
    ['2}]}', '2]}}'],
    ['"c":2', 'c:2'],
    [']}]}', ']]}}'],
    ['[{', '{"a":{'],
  ] as const) {
    expect(assemble(good.replace(from, to)), to).toEqual({ kind: 'refused', reason: 'not-json' });
  }
});

test('property: a block in parts is accepted or refused like the whole text', () => {
  const scrap = fc.constantFrom(
    '{"transactions":[',
    '{"a":',
    `"${long}"`,
    '}',
    ']',
    '{',
    '[',
    ',',
    '1234567890123456',
    '"é"',
    '},{"b":',
    ']}',
    '"rewards":[',
    'null',
  );
  const start = fc.constantFrom('{"transactions":[{"a":"x', '{"b":[{"c":2,"transactions":[{');
  fc.assert(
    fc.property(
      start,
      fc.array(scrap, { maxLength: 9 }),
      fc.boolean(),
      (head, scraps, isClosed) => {
        const text = `${head}${long}"${scraps.join('')}${isClosed ? '}]}' : ''}`;
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(assemble(text)).toEqual({ kind: 'refused', reason: 'not-json' });
          return;
        }
        expect(revive(assemble(text))).toEqual(expected);
      },
    ),
    { numRuns: 5_000 },
  );
});
