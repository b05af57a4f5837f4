/**
 * Damaged binary blocks are refused with a code and an offset, or accepted, and the kernel and the readers in TypeScript always agree.
 * The corpus has a line for every kind of input, and for every input that once revealed a fault.
 */
import { readFileSync } from 'node:fs';
import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import { storeAsZstd } from '@sluice/grpc/encode-archive';
import { encodeStatusMeta, type JsonBlock, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { encodeWireTransaction } from '@sluice/grpc/encode-wire-transaction';
import { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import { ZstdDecoder } from '@sluice/kernels/zstd-decoder';
import { toSlot } from '@sluice/ledger/primitives';
import { parentHashBytes } from '@sluice/source/archive/read-archive-block';
import type { NormalizeOptions } from '@sluice/source/normalize/normalize-options';
import { blockReaders, kernelTexts } from '@sluice/source/read-block';
import type { BlockFormat } from '@sluice/source/source';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { archiveBytes, simulatedForms } from '../../../../source/src/testing/binary-forms.ts';
import { joinNodes, splitNodes } from '../../../../source/src/testing/changed-nodes.ts';
import { wholeBlock } from '../../../../source/src/testing/damaged-block.ts';
import { toBytes } from '../../../../source/src/testing/raw-block.ts';
import { buildDraft, prepareBlock, prepareDraft } from './prepared-block.ts';

interface Sample {
  readonly name: string;
  readonly format: BlockFormat | 'zstd';
  readonly bytes: Uint8Array;
}

const slot = toSlot(1000);
const lenient: Partial<NormalizeOptions> = {
  metaOptional: true,
  allowMissing: ['logs', 'rewards'],
};
const kernel = new TransactionKernel(kernelTexts);
const zstd = new ZstdDecoder();
const unpackedBytesMax = 1_000_000;
const refused = 'refused:';

const corpus = readFileSync(
  new URL('../../../../source/src/testing/binary-corpus.txt', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '')
  .map((line): Sample => {
    const [name, format, text] = line.split(' ') as [string, Sample['format'], string];
    return { name, format, bytes: new Uint8Array(Buffer.from(text, 'base64')) };
  });
const blocks = corpus.filter(({ format }) => format !== 'zstd');
const frames = corpus.filter(({ format }) => format === 'zstd');

/** Returns the stored block, or the error as text. Any other exception is a bug. */
function prepare(format: BlockFormat, bytes: Uint8Array, by?: TransactionKernel): string {
  try {
    const normalized = blockReaders[format](slot, bytes, lenient, by);
    const { header, bytes: whole } = prepareBlock(normalized);
    const built = buildDraft(prepareDraft(normalized).bytes, header);
    expect(Buffer.compare(built, whole)).toBe(0);
    return Buffer.from(whole).toString('base64');
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    expect(error.detail['slot']).toBe(slot);
    if (error.code === 'block-bytes-invalid') {
      expect(error.detail['offset']).toBeGreaterThanOrEqual(0);
    }
    return `${refused} ${error.message}`;
  }
}

/** Checks that the kernel gives the same result. Returns whether the block was accepted. */
function expectSame({ format }: Sample, bytes: Uint8Array): boolean {
  if (format === 'zstd') return false;
  const plain = prepare(format, bytes);
  expect(prepare(format, bytes, kernel)).toBe(plain);
  return !plain.startsWith(refused);
}

test('default: every block of the corpus is read, by the kernel too', () => {
  expect(blocks.length).toBeGreaterThanOrEqual(4);
  for (const sample of blocks) {
    expectSame(sample, sample.bytes);
    if (!sample.name.startsWith('refused')) {
      expect(prepare(sample.format as BlockFormat, sample.bytes)).not.toContain(refused);
    }
  }
});

const position = fc.nat();
const edit = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), position, byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('flip' as const), position, byte: fc.nat(7) }),
  fc.record({ kind: fc.constant('cut' as const), position, byte: fc.nat(40) }),
  fc.record({ kind: fc.constant('repeat' as const), position, byte: fc.nat(40) }),
  fc.record({ kind: fc.constant('long' as const), position, byte: fc.nat(10) }),
  fc.record({ kind: fc.constant('end' as const), position, byte: fc.nat(0) }),
);
type Edit = { kind: string; position: number; byte: number };

/** Returns the bytes with a change: a byte, a bit, a part removed or doubled, a huge or overlong varint, or an early end. */
function apply(bytes: Uint8Array, { kind, position: at, byte }: Edit): Uint8Array {
  const start = at % bytes.length;
  const [head, tail] = [bytes.subarray(0, start), bytes.subarray(start)];
  const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
  const first = tail[0] ?? 0;
  switch (kind) {
    case 'set':
      return join(head, Uint8Array.of(byte), tail.subarray(1));
    case 'flip':
      return join(head, Uint8Array.of(first ^ (1 << byte)), tail.subarray(1));
    case 'cut':
      return join(head, tail.subarray(byte));
    case 'repeat':
      return join(head, tail.subarray(0, byte), tail);
    case 'long':
      return join(head, new Uint8Array(byte).fill(0xff), Uint8Array.of(1), tail.subarray(1));
    default:
      return join(head);
  }
}

test('property: damaged blocks give the same result with and without the kernel, or the same error', () => {
  let acceptedCount = 0;
  let refusedCount = 0;
  const edits = fc.array(edit, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.nat(blocks.length - 1), edits, (index, list) => {
      const sample = blocks[index] as Sample;
      const damaged = list.reduce(apply, sample.bytes);
      if (damaged.length === 0) return;
      if (expectSame(sample, damaged)) acceptedCount++;
      else refusedCount++;
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 1_500) },
  );
  expect(acceptedCount).toBeGreaterThan(50);
  expect(refusedCount).toBeGreaterThan(50);
});

test('property: damaged transactions and metadata of an archive give the same result, with valid hashes', () => {
  const block = parseJsonBlock(toBytes(wholeBlock()));
  const sample: Sample = { name: 'hashed', format: 'archive', bytes: new Uint8Array() };
  let acceptedCount = 0;
  const part = fc.constantFrom('transaction', 'metadata', 'frame');
  fc.assert(
    fc.property(part, fc.array(edit, { minLength: 1, maxLength: 2 }), (name, list) => {
      const damageIf = (own: string, bytes: Uint8Array) =>
        own === name && bytes.length > 0 ? list.reduce(apply, bytes) : bytes;
      const bytes = archiveBytes(slot, block, {
        encodeTransaction: (entry) => damageIf('transaction', encodeWireTransaction(entry)),
        encodeMeta: (meta) => damageIf('metadata', encodeStatusMeta(meta)),
        compress: (data) => damageIf('frame', storeAsZstd(data)),
      });
      if (expectSame(sample, bytes)) acceptedCount++;
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 500) },
  );
  expect(acceptedCount).toBeGreaterThan(10);
});

/** Returns a block of transactions that the kernel takes. */
function ordinaryBlock(): JsonBlock {
  const [form] = simulatedForms(1, { transactionsPerBlock: 3, votes: 0 });
  assert(form !== undefined, 'the ledger has a block');
  return form.block;
}

const varintBytesMax = 10;

/** Returns a varint of this many bytes. Its highest bits are 0 if it has needless bytes. */
function varintOf(byteCount: number, isNeedless: boolean): Uint8Array {
  const last = isNeedless ? 0 : 1;
  return Uint8Array.from({ length: byteCount }, (_, i) =>
    i === byteCount - 1 ? last : 0x80 | (i === 0 ? 0x55 : 0),
  );
}

/** The empty lists of balances before and after a transaction. */
const noBalances = Uint8Array.of(0x1a, 0, 0x22, 0);

/** Returns a block whose balances before and after its transactions are these varints, repeated. */
function withBalances(varints: readonly Uint8Array[], cutBytes = 0): Uint8Array {
  const list = (field: number, count: number, first: number) => {
    const values = Array.from({ length: count }, (_, i) => varints[(first + i) % varints.length]);
    const bytes = Buffer.concat(values as Uint8Array[]);
    return new BinaryWriter().field(field, bytes.subarray(0, bytes.length - cutBytes)).finish();
  };
  return archiveBytes(slot, ordinaryBlock(), {
    encodeMeta: (meta) => {
      const count = meta.preBalances.length;
      const rest = Buffer.from(encodeStatusMeta({ ...meta, preBalances: [], postBalances: [] }));
      const at = rest.indexOf(noBalances);
      const after = rest.subarray(at + noBalances.length);
      const lists = [list(3, count, 0), list(4, count, 1)];
      return new Uint8Array(Buffer.concat([rest.subarray(0, at), ...lists, after]));
    },
  });
}

test('property: integers of every length, also with needless bytes, are read by the kernel as by the other reader', () => {
  const sample: Sample = { name: 'integers', format: 'archive', bytes: new Uint8Array() };
  const stored = new Set<string>();
  for (let count = 1; count <= varintBytesMax; count++) {
    const needless = varintOf(varintBytesMax + 1 - count, true);
    const bytes = withBalances([varintOf(count, false), needless]);
    expect(expectSame(sample, bytes)).toBe(true);
    expect(kernel.takenCount).toBeGreaterThan(0);
    stored.add(prepare('archive', bytes));
  }
  expect(stored.size).toBe(varintBytesMax);
});

test('error: an integer that is longer than ten bytes or than its list is refused', () => {
  const sample: Sample = { name: 'integers', format: 'archive', bytes: new Uint8Array() };
  for (let count = 2; count <= varintBytesMax; count++) {
    expect(expectSame(sample, withBalances([varintOf(count, false)], 1))).toBe(false);
  }
  expect(expectSame(sample, withBalances([varintOf(varintBytesMax + 1, false)]))).toBe(false);
});

test('error: a line that is longer than the metadata is refused, also directly after a line', () => {
  const sample: Sample = { name: 'lines', format: 'archive', bytes: new Uint8Array() };
  const block = ordinaryBlock();
  const withBytes = (...added: number[]) =>
    archiveBytes(slot, block, {
      encodeMeta: (meta) => {
        const whole = Buffer.from(encodeStatusMeta(meta));
        const line = meta.logMessages?.at(-1) ?? '';
        const at = whole.lastIndexOf(line) + line.length;
        return Buffer.concat([whole.subarray(0, at), Buffer.from(added), whole.subarray(at)]);
      },
    });
  expect(expectSame(sample, withBytes())).toBe(true);
  expect(kernel.takenCount).toBeGreaterThan(0);
  const tag = 0x32;
  for (const length of [
    [0xff, 0x7f],
    [0xff, 0xff, 3],
    [0xff, 0xff, 0xff, 0xff, 7],
  ]) {
    expect(expectSame(sample, withBytes(tag, ...length))).toBe(false);
  }
});

test.each(['a', '"', '\\', '\n', 'é', '\u{1f600}', '\u0001'])(
  'property: lines of every length with %j at every position are the same from the kernel',
  (special) => {
    const sample: Sample = { name: 'lines', format: 'archive', bytes: new Uint8Array() };
    const block = ordinaryBlock();
    for (let length = 0; length < 35; length++) {
      const lines = Array.from({ length: length + 1 }, (_, at) =>
        [...'x'.repeat(at), special, ...'y'.repeat(length - at)].join(''),
      );
      const bytes = archiveBytes(slot, block, {
        encodeMeta: (meta) => {
          const [first = '', ...rest] = meta.logMessages ?? [];
          return encodeStatusMeta({ ...meta, logMessages: [first, ...lines, '', ...rest] });
        },
      });
      expect(expectSame(sample, bytes)).toBe(true);
      // A character with a long escape is left to the other reader.
      expect(kernel.takenCount > 0).toBe(special !== '\u0001');
    }
  },
);

const nodeChange = fc.record({
  kind: fc.constantFrom('swap', 'repeat', 'remove', 'edit'),
  from: fc.nat(),
  to: fc.nat(),
  by: edit,
});

test('property: nodes of an archive that are moved, repeated, removed or damaged give the same result, with valid hashes', () => {
  const { transactions, ...rest } = parseJsonBlock(toBytes(wholeBlock()));
  const block = { ...rest, transactions: Array.from({ length: 3 }, () => transactions).flat() };
  const whole = archiveBytes(slot, block);
  const sample: Sample = { name: 'nodes', format: 'archive', bytes: whole };
  let acceptedCount = 0;
  fc.assert(
    fc.property(fc.array(nodeChange, { minLength: 1, maxLength: 3 }), (changes) => {
      const nodes = splitNodes(whole.subarray(parentHashBytes));
      for (const { kind, from, to, by } of changes) {
        const [i, j] = [from % nodes.length, to % nodes.length];
        const [a, b] = [nodes[i], nodes[j]];
        if (a === undefined || b === undefined) return;
        if (kind === 'swap') [nodes[i], nodes[j]] = [b, a];
        else if (kind === 'repeat') nodes.splice(i, 0, b);
        else if (kind === 'remove') nodes.splice(i, 1);
        else if (a.bytes.length > 0) nodes[i] = { ...a, bytes: apply(a.bytes, by) };
      }
      const hash = whole.subarray(0, parentHashBytes);
      const bytes = new Uint8Array(Buffer.concat([hash, joinNodes(nodes)]));
      if (expectSame(sample, bytes)) acceptedCount++;
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 500) },
  );
  expect(acceptedCount).toBeGreaterThan(10);
});

test('property: a block that ends too early is never accepted as a whole one', () => {
  for (const { format, bytes } of blocks) {
    const whole = prepare(format as BlockFormat, bytes);
    for (let end = 0; end < bytes.length; end += 13) {
      expect(prepare(format as BlockFormat, bytes.subarray(0, end), kernel)).not.toBe(whole);
    }
  }
});

test('property: damaged Zstandard frames are refused or decoded within their limit', () => {
  expect(frames.length).toBeGreaterThanOrEqual(3);
  for (const { bytes } of frames) expect(zstd.decode(bytes, unpackedBytesMax).kind).toBe('decoded');
  fc.assert(
    fc.property(
      fc.nat(frames.length - 1),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      (index, list) => {
        const damaged = list.reduce(apply, (frames[index] as Sample).bytes);
        if (damaged.length === 0) return;
        const result = zstd.decode(damaged, unpackedBytesMax);
        if (result.kind === 'decoded')
          expect(result.bytes.length).toBeLessThanOrEqual(unpackedBytesMax);
        else expect(result.offset).toBeLessThanOrEqual(damaged.length + 16);
      },
    ),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 1_500) },
  );
});

test('limit: a small frame that would become huge is refused without the memory for it', () => {
  // A frame of blocks that each repeat one byte 131,072 times.
  const block = [0x02, 0x00, 0x10, 0x61];
  const bomb = Uint8Array.from([
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x00,
    0x58,
    ...Array(2_000).fill(block).flat(),
  ]);
  expect(zstd.decode(bomb, unpackedBytesMax)).toMatchObject({
    fault: expect.stringContaining('larger'),
  });
});
