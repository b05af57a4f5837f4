import type { JsonScan } from '@sluice/kernels/json-scanner';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanJson } from './parse-exact-json.ts';

const depthMax = 4;

type ScanResult = Omit<JsonScan, 'bytes' | 'digitRuns' | 'parts'> & {
  digitRuns: number[];
  parts: number[];
};

function scanFrom(bytes: Uint8Array, depth: number): ScanResult {
  const { bytes: text, digitRuns, parts, ...flags } = scanJson(bytes, depth);
  expect(Buffer.compare(text, bytes)).toBe(0);
  return { ...flags, digitRuns: [...digitRuns], parts: [...parts] };
}

/** A simple version of the kernel: one character at a time, over text that may not be JSON. */
class PlainScan {
  isAscii = true;
  isTooDeep = false;
  hasLoneSurrogate = false;
  hasDelete = false;
  digitRuns: number[] = [];
  parts: number[] = [];
  #depth = 0;
  #digitCount = 0;
  #highAt = -100;
  #partStart = -1;

  constructor(bytes: Uint8Array) {
    const text = Buffer.from(bytes).toString('latin1');
    let inString = false;
    let isEscaped = false;
    for (let i = 0; i < text.length; i++) {
      const character = text.charAt(i);
      if (character > '\u007f') this.isAscii = false;
      if (character === '\u007f') this.hasDelete = true;
      if (character === '"' && !isEscaped) inString = !inString;
      if (inString) this.#endRun(i);
      else this.#seeOutside(character, i);
      isEscaped = character === '\\' && !isEscaped;
      if (isEscaped) this.#seeEscape(text.slice(i, i + 12), i);
    }
    this.#endRun(text.length);
  }

  get result(): ScanResult {
    const { isAscii, isTooDeep, hasLoneSurrogate, hasDelete, digitRuns, parts } = this;
    return { isAscii, isTooDeep, hasLoneSurrogate, hasDelete, digitRuns, parts };
  }

  #seeOutside(character: string, at: number): void {
    if (/[0-9]/.test(character)) this.#digitCount++;
    else this.#endRun(at);
    if (/[{[]/.test(character)) this.#open(character, at);
    if (/[}\]]/.test(character)) this.#close(at);
    if (this.#depth > depthMax) this.isTooDeep = true;
  }

  #open(character: string, at: number): void {
    this.#depth++;
    if (this.#depth === 3) this.#partStart = character === '{' ? at : -1;
  }

  #close(at: number): void {
    if (this.#depth === 3 && this.#partStart >= 0 && at + 1 - this.#partStart >= 512) {
      this.parts.push(this.#partStart, at + 1);
    }
    if (this.#depth === 3) this.#partStart = -1;
    this.#depth--;
  }

  #endRun(end: number): void {
    if (this.#digitCount >= 16) this.digitRuns.push(end - this.#digitCount, end);
    this.#digitCount = 0;
  }

  #seeEscape(rest: string, at: number): void {
    if (/^\\u007[fF]/.test(rest)) this.hasDelete = true;
    if (/^\\u[dD][89aAbB]/.test(rest)) {
      if (/^......\\u[dD][c-fC-F]/s.test(rest)) this.#highAt = at;
      else this.hasLoneSurrogate = true;
    } else if (/^\\u[dD][c-fC-F]/.test(rest) && this.#highAt !== at - 6) {
      this.hasLoneSurrogate = true;
    }
  }
}

const pieces = fc.constantFrom(
  '"',
  '\\',
  '\\"',
  '\\\\',
  '{',
  '}',
  '[',
  ']',
  '0123456789',
  '123456',
  '7',
  ',',
  ':',
  '-',
  '.5',
  'é',
  '\u2028',
  '\u007f',
  '\\u007f',
  '\\ud83d',
  '\\ude00',
  '\\uD83D\\uDE00',
  '\\ud83d\\ude00',
  '\\u0041',
  'Program log: ',
  ' '.repeat(13),
  '{'.repeat(3),
  '[[{',
  '}]}',
  ' '.repeat(500),
  '"plain"',
);

test('property: the kernel finds the same as the simple version', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 120 }), (parts) => {
      const bytes = new TextEncoder().encode(parts.join(''));
      expect(scanFrom(bytes, depthMax)).toEqual(new PlainScan(bytes).result);
    }),
    { numRuns: 3_000 },
  );
});

test('property: nothing is lost at the boundary of two pieces of the text', () => {
  const edge = 262_144;
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), fc.nat(90), (parts, back) => {
      const middle = new TextEncoder().encode(parts.join(''));
      const bytes = new Uint8Array(edge + 500).fill(0x20);
      bytes.set(middle.subarray(0, 500), edge - back);
      expect(scanFrom(bytes, depthMax)).toEqual(new PlainScan(bytes).result);
    }),
    { numRuns: 60 },
  );
});

test('limit: nesting at the limit is accepted, one more level is refused', () => {
  const nested = (depth: number) => new TextEncoder().encode('['.repeat(depth) + ']'.repeat(depth));
  expect(scanJson(nested(64), 64).isTooDeep).toBe(false);
  expect(scanJson(nested(65), 64).isTooDeep).toBe(true);
  expect(scanJson(new TextEncoder().encode('[]'.repeat(1000)), 1).isTooDeep).toBe(false);
  expect(scanJson(new TextEncoder().encode(`"${'['.repeat(1000)}"`), 1).isTooDeep).toBe(false);
});

test('behavior: runs of digits of any length and position are found completely', () => {
  for (let start = 0; start < 140; start++) {
    for (const length of [15, 16, 17, 63, 64, 65, 130]) {
      const bytes = new TextEncoder().encode(`${' '.repeat(start)}${'9'.repeat(length)},1`);
      const expected = length < 16 ? [] : [start, start + length];
      expect(scanFrom(bytes, 64).digitRuns).toEqual(expected);
    }
  }
});
