import { Random } from '@sluice/base/random';
import { expect, test } from 'vitest';
import { type CopyColumn, CopyKernel } from './copy-kernel.ts';
import { CopyMessages } from './copy-messages.ts';

const kernel = new CopyKernel();
const random = Random.fromSeed(1);
type Field = Buffer | null;

/** Texts are compared, because a matcher would visit every byte of a buffer. */
const textOf = (field: Field | undefined) => field?.toString('latin1') ?? null;
const textsOf = (rows: readonly (readonly (Field | undefined)[])[]) =>
  rows.map((row) => row.map(textOf));

/** Returns the fields of each row of messages, read by the description of the format. */
function readRows(bytes: Uint8Array): Field[][] {
  const data: Buffer[] = [];
  const all = Buffer.from(bytes);
  for (let at = 0; at < all.length; ) {
    expect(all[at]).toBe('d'.charCodeAt(0));
    const end = at + 1 + all.readInt32BE(at + 1);
    data.push(all.subarray(at + 5, end));
    at = end;
  }
  const text = Buffer.concat(data);
  expect(text.subarray(0, 19).toString('latin1')).toBe('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0');
  const rows: Field[][] = [];
  let at = 19;
  for (;;) {
    const count = text.readInt16BE(at);
    at += 2;
    if (count === -1) break;
    rows.push(
      Array.from({ length: count }, () => {
        const length = text.readInt32BE(at);
        const start = at + 4;
        at = start + Math.max(length, 0);
        return length === -1 ? null : text.subarray(start, at);
      }),
    );
  }
  expect(at).toBe(text.length);
  return rows;
}

function write(columns: readonly CopyColumn[], rowCount: number) {
  const messages = new CopyMessages();
  kernel.write(columns, rowCount, (rows, count) => messages.add(rows, count));
  const { rowCount: written, bytes } = messages.take();
  expect(written).toBe(rowCount);
  return readRows(bytes);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>) =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Returns a bit for each value that is not null. */
function validity(values: readonly unknown[]): Uint8Array | undefined {
  if (!values.includes(null)) return undefined;
  const bits = new Uint8Array(Math.ceil(values.length / 8));
  for (const [i, value] of values.entries())
    if (value !== null) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
  return bits;
}

function startsOf(values: readonly (Uint8Array | null)[]): Uint8Array {
  const starts = new Uint32Array(values.length + 1);
  for (const [i, value] of values.entries())
    starts[i + 1] = (starts[i] ?? 0) + (value?.length ?? 0);
  return bytesOf(starts);
}

const join = (values: readonly (Uint8Array | null)[]) =>
  new Uint8Array(Buffer.concat(values.map((value) => value ?? new Uint8Array(0))));

function slices(values: readonly (Buffer | null)[]): CopyColumn {
  return {
    kind: 'slices',
    valid: validity(values),
    starts: startsOf(values),
    bytes: join(values),
  };
}

function integers(
  kind: 'integer' | 'bigint' | 'time' | 'numeric',
  values: readonly (bigint | null)[],
  { isLong, isSigned }: { readonly isLong: boolean; readonly isSigned: boolean },
): CopyColumn {
  const words = new BigInt64Array(values.map((value) => value ?? 77n));
  const low = new Int32Array(values.map((value) => Number(BigInt.asIntN(32, value ?? 77n))));
  return { kind, valid: validity(values), values: bytesOf(isLong ? words : low), isLong, isSigned };
}

const noise = (length: number) => Buffer.from(Array.from({ length }, () => random.below(256)));
const list = <Value>(count: number, make: (i: number) => Value) =>
  Array.from({ length: count }, (_, i) => make(i));
const maybe = <Value>(value: Value) => (random.chance(0.3) ? null : value);

/** Returns the decimal text of a numeric without decimal places. */
function numericOf(field: Field): string | null {
  if (field === null) return null;
  const count = field.readInt16BE(0);
  const weight = field.readInt16BE(2);
  expect(field.length).toBe(8 + count * 2);
  expect(field.readInt16BE(6)).toBe(0);
  let value = 0n;
  for (let i = 0; i <= weight; i++)
    value = value * 10_000n + BigInt(i < count ? field.readInt16BE(8 + i * 2) : 0);
  return `${field.readUInt16BE(4) === 0x4000 ? '-' : ''}${value}`;
}

test('property: bytes of every length are copied, with and without nulls and dictionaries', () => {
  for (let run = 0; run < 60; run++) {
    const count = random.between(0, 80);
    const texts = list(count, () => maybe(noise(random.between(0, random.pick([5, 50, 500])))));
    const plain = list(count, () => noise(random.between(0, 100)));
    const entries = list(random.between(1, 9), () => noise(random.between(0, 60)));
    const indexes = list(count, () => maybe(random.below(entries.length)));
    const dictionary: CopyColumn = {
      kind: 'dictionary',
      valid: validity(indexes),
      indexes: bytesOf(new Uint32Array(indexes.map((index) => index ?? 0))),
      starts: startsOf(entries),
      bytes: join(entries),
    };
    const rows = write([slices(texts), dictionary, slices(plain)], count);
    const expected = list(count, (i) => {
      const index = indexes[i] ?? null;
      return [texts[i], index === null ? null : entries[index], plain[i]];
    });
    expect(textsOf(rows)).toEqual(textsOf(expected));
  }
});

test('behavior: a row that is larger than the output, and many rows, become several messages', () => {
  const texts = [10, 300_000, 0, 70_000, 256, 257, 1_000_000].map(noise);
  const twice = write([slices(texts), slices(texts)], texts.length);
  expect(textsOf(twice)).toEqual(textsOf(texts.map((text) => [text, text])));
  const many = list(20_000, () => noise(9));
  expect(textsOf(write([slices(many)], many.length))).toEqual(textsOf(many.map((text) => [text])));
});

test('behavior: fields with their lengths are copied as they are', () => {
  const fields = [Buffer.from([0, 0, 0, 2, 7, 8]), Buffer.from([255, 255, 255, 255])];
  const column: CopyColumn = { kind: 'fields', starts: startsOf(fields), bytes: join(fields) };
  expect(write([column], 2)).toEqual([[Buffer.from([7, 8])], [null]]);
});

const edges = [0n, 1n, 9_999n, 10_000n, 100_000_000n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n];

test('property: numerics have every digit, of integers with and without a sign', () => {
  const drawn = list(300, () => BigInt(random.below(2 ** 32)) << BigInt(random.below(32)));
  const long = [...edges, 2n ** 63n, 2n ** 64n - 1n, 10n ** 19n, ...drawn, null];
  const signed = [...edges, ...edges.map((value) => -value), -(2n ** 63n), null];
  const short = [0n, 1n, 9_999n, 10_000n, 2n ** 31n, 2n ** 32n - 1n, null];
  const negative = [0n, -1n, -10_000n, 2n ** 31n - 1n, -(2n ** 31n), null];
  for (const [values, width] of [
    [long, { isLong: true, isSigned: false }],
    [signed, { isLong: true, isSigned: true }],
    [short, { isLong: false, isSigned: false }],
    [negative, { isLong: false, isSigned: true }],
  ] as const) {
    const rows = write([integers('numeric', values, width)], values.length);
    expect(rows.map(([field]) => numericOf(field ?? null))).toEqual(
      values.map((value) => (value === null ? null : `${value}`)),
    );
  }
});

test('behavior: integers, times and booleans', () => {
  const bigints = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), null];
  const unsigned = [0n, 2n ** 32n - 1n, null, 5n, 6n];
  const small = [0n, -1n, 2n ** 31n - 1n, -(2n ** 31n), null];
  const seconds = [946_684_800n, 0n, 8_640_000_000_000n, 8_640_000_000_001n, -(2n ** 63n)];
  const flags = [true, false, null, true, false];
  const values = bytesOf(new Uint8Array([0b01001]));
  const rows = write(
    [
      integers('bigint', bigints, { isLong: true, isSigned: true }),
      integers('bigint', unsigned, { isLong: false, isSigned: false }),
      integers('integer', small, { isLong: false, isSigned: true }),
      integers('time', seconds, { isLong: true, isSigned: true }),
      { kind: 'boolean', valid: validity(flags), values },
    ],
    5,
  );
  const column = (at: number) => rows.map((row) => row[at] ?? null);
  expect(column(0).map((field) => field?.readBigInt64BE() ?? null)).toEqual(bigints);
  expect(column(1).map((field) => field?.readBigInt64BE() ?? null)).toEqual(unsigned);
  expect(column(2).map((field) => (field === null ? null : BigInt(field.readInt32BE())))).toEqual(
    small,
  );
  expect(column(3).map((field) => field?.readBigInt64BE() ?? null)).toEqual([
    ...[0n, -946_684_800_000_000n, (8_640_000_000_000n - 946_684_800n) * 1_000_000n],
    ...[null, null],
  ]);
  expect(column(4).map((field) => (field === null ? null : field.readUInt8() === 1))).toEqual(
    flags,
  );
});

test('default: messages without rows are only the header and the end', () => {
  expect(write([], 0)).toEqual([]);
});
