import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call, keys, program, rawTransaction, toBytes, toJson } from '../testing/raw-block.ts';
import { hasRealData, readRealBlocks } from '../testing/real-data.ts';
import { isSurelyVote } from './is-surely-vote.ts';
import { isVote } from './read-message.ts';

const vote = rawTransaction({
  instructions: [call(program.vote, { accounts: [1, 0], data: '3' })],
});
const isSurely = (text: string) => isSurelyVote(toBytes(text));

/** Determines the same from the parsed value. */
function isVoteWhenParsed(text: string): boolean {
  try {
    return isVote(JSON.parse(text));
  } catch {
    return false;
  }
}

test('default: a vote is recognized by its bytes, with any key order and white space', () => {
  const text = toJson(vote);
  expect(isSurely(text)).toBe(true);
  const spaced = text.replaceAll(',', ' ,\n').replaceAll(':', '\t: ').replaceAll('[', '[ ');
  expect(isSurely(` ${spaced}\r\n`)).toBe(true);
  const { transaction, meta, version } = vote;
  expect(isSurely(toJson({ version, meta, transaction }))).toBe(true);
});

test('behavior: a transaction that is not clearly a vote is left to be parsed', () => {
  const texts = [
    toJson(rawTransaction({ instructions: [call(program.a)] })),
    toJson(rawTransaction({ instructions: [] })),
    toJson(rawTransaction({ instructions: [call(program.vote), call(program.vote)] })),
    toJson(rawTransaction({ instructions: [call(program.vote), call(program.computeBudget)] })),
    toJson(rawTransaction({ instructions: [call(program.vote, { programIdIndex: keys.length })] })),
    toJson(vote).replace('"programIdIndex":', '"programIdIndex":0,"programIdIndex":'),
    toJson(vote).replace('"instructions":', '"instructions":[],"instructions":'),
    toJson(vote).replace('"accountKeys":', '"accountKeys":[],"accountKeys":'),
    toJson(vote).replace('"message":', '"message":{},"message":'),
    toJson(vote).replace('"transaction":', '"transaction":{},"transaction":'),
    toJson(vote).replace('"legacy"', '"\\u006cegacy"'),
    toJson(vote).replace('"legacy"', `"${'x'.repeat(2048)}"`),
    toJson(vote).replace('"legacy"', `${'['.repeat(70)}${']'.repeat(70)}`),
    toJson({ message: vote['transaction'] }),
    'null',
    '[]',
    '{}',
    '',
  ];
  for (const text of texts) expect(isSurely(text), text).toBe(false);
});

test('error: invalid JSON is never recognized as a vote', () => {
  const text = toJson(vote);
  for (const [from, to] of [
    ['"fee":5000', '"fee":05000'],
    ['"fee":5000', '"fee":5000.'],
    ['"fee":5000', '"fee":5e'],
    ['"fee":5000', '"fee":+5'],
    ['"fee":5000', '"fee":--5'],
    ['"fee":5000', '"fee":nul'],
    ['"fee":5000', '"fee":tru'],
    ['"fee":5000', '"fee":"\n"'],
    ['"fee":5000', '"fee" 5000'],
    ['"fee":5000', '"fee":5000,'],
    ['"fee":5000', 'fee:5000'],
    ['"fee":5000', '"fee":[1,]'],
    ['"fee":5000', '"fee":[1}'],
    ['"fee":5000', '"fee":{"a":1,}'],
    ['"legacy"', '"legacy'],
  ] as const) {
    const broken = text.replace(from, to);
    expect(() => JSON.parse(broken), to).toThrow();
    expect(isSurely(broken), to).toBe(false);
  }
  for (const tail of ['x', '}', ',', '{}']) expect(isSurely(text + tail)).toBe(false);
  for (const value of ['1e999', '-0', '0.5E+10', 'true', 'false', 'null', '[]', '{"a":[{}]}']) {
    expect(isSurely(text.replace('"fee":5000', `"fee":${value}`)), value).toBe(true);
  }
});

test('property: everything recognized as a vote is valid JSON and a vote when parsed', () => {
  const text = toJson(vote);
  let yesCount = 0;
  const scrap = fc.constantFrom(
    '',
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '1',
    '0',
    '-',
    '.',
    'e',
    'null',
    ' ',
    '"a":1,',
    '\\',
    '"instructions":[],',
    'é',
  );
  const edit = fc.tuple(fc.nat(text.length), fc.nat(6), scrap);
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      let damaged = text;
      for (const [at, count, insert] of edits) {
        damaged = damaged.slice(0, at) + insert + damaged.slice(at + count);
      }
      if (!isSurely(damaged)) return;
      yesCount++;
      expect(isVoteWhenParsed(damaged)).toBe(true);
    }),
    { numRuns: 20_000 },
  );
  expect(yesCount).toBeGreaterThan(100);
});

const files = ['blocks-various.jsonl.gz', 'chain-mainnet-0.jsonl.gz', 'chain-node-3.1.5.jsonl.gz'];
for (const file of files) {
  describe.skipIf(!hasRealData(file))(`real data, skipped if absent: ${file}`, () => {
    test('behavior: every real vote is recognized by its bytes, and nothing else', () => {
      for (const { bytes } of readRealBlocks(file)) {
        const { transactions } = JSON.parse(Buffer.from(bytes).toString()) as {
          transactions: unknown[];
        };
        for (const entry of transactions) {
          const text = JSON.stringify(entry);
          // A few votes are long or have logs with escapes. They are parsed.
          if (text.includes('\\') || text.length > 2048) continue;
          expect(isSurely(text)).toBe(isVote(entry));
        }
      }
    });
  });
}
