import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Random } from '@sluice/base/random';
import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import type { ArrowField, ArrowType } from '../arrow-type.ts';
import { buildColumns } from '../build-columns.ts';
import { type ArrowBatch, type ArrowValue, Dictionary } from '../ipc-reader.ts';
import { ParquetWriter } from './parquet-writer.ts';

const leafTypes: readonly ArrowType[] = [
  { kind: 'bool' },
  { kind: 'int', bits: 32, isSigned: true },
  { kind: 'int', bits: 32, isSigned: false },
  { kind: 'int', bits: 64, isSigned: true },
  { kind: 'int', bits: 64, isSigned: false },
  { kind: 'timestamp' },
  { kind: 'utf8' },
  { kind: 'binary' },
  { kind: 'fixedBinary', byteCount: 32 },
  { kind: 'dictionary' },
];

function randomField(random: Random, name: string, depth = 0): ArrowField {
  const isNullable = random.chance(0.5);
  const kind = depth < 3 ? random.unit() : 0;
  if (kind > 0.8) return { name, isNullable, type: randomList(random, depth) };
  if (kind > 0.65) {
    const fields = Array.from({ length: random.between(1, 3) }, (_, i) =>
      randomField(random, `f${i}`, depth + 1),
    );
    return { name, isNullable, type: { kind: 'struct', fields } };
  }
  return { name, isNullable, type: random.pick(leafTypes) };
}

const randomList = (random: Random, depth: number): ArrowType => ({
  kind: 'list',
  item: randomField(random, 'item', depth + 1),
});

const texts = ['', 'a', 'bb', 'Zürich', ...Array.from({ length: 300 }, (_, i) => `text ${i}`)];

function randomValue(random: Random, { type, isNullable }: ArrowField): ArrowValue {
  if (isNullable && random.chance(0.3)) return null;
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.below(256));
  const long = () => Buffer.from(bytes(8)).readBigUInt64LE();
  switch (type.kind) {
    case 'bool':
      return random.chance(0.5);
    case 'int': {
      const value = random.chance(0.5) ? BigInt(random.below(5)) : long();
      const cut = type.isSigned ? BigInt.asIntN : BigInt.asUintN;
      return type.bits === 64 ? cut(64, value) : Number(cut(32, value));
    }
    case 'timestamp':
      return BigInt(random.below(2_000_000_000)) - 1_000n;
    case 'utf8':
    case 'dictionary':
      return random.pick(texts);
    case 'binary':
      return bytes(random.below(100));
    case 'fixedBinary':
      return bytes(type.byteCount);
    case 'list':
      return Array.from({ length: random.below(4) }, () => randomValue(random, type.item));
    case 'struct':
      return Object.fromEntries(
        type.fields.map((field) => [field.name, randomValue(random, field)]),
      );
  }
}

function batchOf(
  fields: readonly ArrowField[],
  rows: readonly (readonly ArrowValue[])[],
): ArrowBatch {
  const values = fields.map((_, i) => rows.map((row) => row[i] ?? null));
  const { columns, dictionary } = buildColumns(fields, values);
  const texts = new Dictionary(dictionary);
  return { length: rows.length, columns, dictionary: texts, metadata: new Map() };
}

/** Writes rows in batches of random lengths, of which only a part is used. */
function write(
  fields: readonly ArrowField[],
  rows: readonly (readonly ArrowValue[])[],
  random: Random,
): Uint8Array {
  const writer = new ParquetWriter(fields);
  for (let at = 0; at < rows.length; ) {
    const count = Math.min(rows.length - at, random.between(1, rows.length));
    const before = Math.min(at, random.below(3));
    const batch = batchOf(fields, rows.slice(at - before, at + count + 2));
    writer.add(batch, before, before + count);
    at += count;
  }
  expect(writer.rowCount).toBe(rows.length);
  return writer.finish();
}

/** The value as the reader returns it. */
function expected({ type }: ArrowField, value: ArrowValue): unknown {
  if (value === null) return null;
  switch (type.kind) {
    case 'timestamp':
      return new Date(Number(value) * 1_000);
    case 'list':
      return (value as readonly ArrowValue[]).map((item) => expected(type.item, item));
    case 'struct': {
      const members = value as Record<string, ArrowValue>;
      return Object.fromEntries(
        type.fields.map((field) => [field.name, expected(field, members[field.name] ?? null)]),
      );
    }
    default:
      return value;
  }
}

async function read({ buffer, byteOffset, length }: Uint8Array): Promise<unknown> {
  const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  return withNulls(await parquetReadObjects({ file, utf8: false }));
}

/** The reader returns `undefined` for some values that do not exist. */
function withNulls(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.map(withNulls);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withNulls(each)]));
}

test('property: an independent reader returns the rows of any columns', async () => {
  for (let seed = 0; seed < 150; seed++) {
    const random = Random.fromSeed(seed);
    const fields = Array.from({ length: random.between(1, 5) }, (_, i) =>
      randomField(random, `c${i}`),
    );
    const rows = Array.from({ length: random.between(1, 120) }, () =>
      fields.map((field) => randomValue(random, field)),
    );
    const wanted = rows.map((row) =>
      Object.fromEntries(fields.map((field, i) => [field.name, expected(field, row[i] ?? null)])),
    );
    const file = write(fields, rows, random);
    expect(await read(file), `seed ${seed}: ${JSON.stringify(fields)}`).toEqual(wanted);
    const again = write(fields, rows, random);
    expect(Buffer.from(again).equals(file), `seed ${seed}: other batches, same bytes`).toBe(true);
  }
}, 60_000);

test('behavior: a file of several row groups, and one without rows', async () => {
  const fields: ArrowField[] = [
    { name: 'number', isNullable: false, type: { kind: 'int', bits: 64, isSigned: false } },
    { name: 'text', isNullable: true, type: { kind: 'dictionary' } },
  ];
  const rows = Array.from({ length: 150_000 }, (_, i) => [
    BigInt(i) + (1n << 63n),
    i % 7 === 0 ? null : `text ${i % 70_000}`,
  ]);
  const file = write(fields, rows, Random.fromSeed(1));
  const found = (await read(file)) as { number: bigint; text: string | null }[];
  expect(found.length).toBe(rows.length);
  const isSame = rows.every(
    ([number, text], i) => found[i]?.number === number && found[i]?.text === text,
  );
  expect(isSame).toBe(true);
  expect(await read(new ParquetWriter(fields).finish())).toEqual([]);
});

test('behavior: DuckDB reads the file, and skips row groups by their bounds', async () => {
  const fields: ArrowField[] = [
    { name: 'slot', isNullable: false, type: { kind: 'int', bits: 64, isSigned: false } },
    { name: 'change', isNullable: true, type: { kind: 'int', bits: 64, isSigned: true } },
    { name: 'time', isNullable: true, type: { kind: 'timestamp' } },
    { name: 'program', isNullable: false, type: { kind: 'dictionary' } },
    {
      name: 'accounts',
      isNullable: false,
      type: {
        kind: 'list',
        item: { name: 'item', isNullable: false, type: { kind: 'dictionary' } },
      },
    },
  ];
  const rows = Array.from({ length: 100_000 }, (_, i) => [
    BigInt(i >> 3),
    i % 5 === 0 ? null : BigInt(i) * -1_000_000_000_000n,
    BigInt(1_767_225_600 + (i >> 3)),
    `program ${i % 3}`,
    Array.from({ length: i % 4 }, (_, k) => `account ${(i + k) % 1_000}`),
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-parquet-'));
  const path = join(folder, 'file.parquet');
  writeFileSync(path, write(fields, rows, Random.fromSeed(2)));
  const connection = await (await DuckDBInstance.create()).connect();
  const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  expect(
    await ask(
      `select count(*), max(slot), min(change), count(change), count(distinct program), sum(len(accounts)), max(epoch(time)) from '${path}'`,
    ),
  ).toEqual([['100000', '12499', '-99999000000000000', '80000', '3', '150000', 1767238099]]);
  expect(await ask(`select program, accounts, change from '${path}' where slot = 12499`)).toEqual(
    rows
      .slice(-8)
      .map(([, change, , program, accounts]) => [program, accounts, change?.toString() ?? null]),
  );
  expect(
    await ask(
      `select row_group_id, stats_min_value, stats_max_value, stats_null_count from parquet_metadata('${path}') where path_in_schema = 'change' order by 1`,
    ),
  ).toEqual([
    ['0', '-65534000000000000', '-1000000000000', '13108'],
    ['1', '-99999000000000000', '-65536000000000000', '6892'],
  ]);
  connection.closeSync();
  rmSync(folder, { recursive: true });
});
