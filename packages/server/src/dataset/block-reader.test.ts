import { expect, test } from 'vitest';
import type { HotBlock, SealedSegment, SegmentList } from '../chain/chain-snapshot.ts';
import { makeRun, sealRun } from '../chain/testing/chain-fixtures.ts';
import { BlockReader } from './block-reader.ts';
import { type DatasetLimits, datasetLimits } from './dataset-limits.ts';
import type { SegmentFiles } from './segment-files.ts';

const run = makeRun('a', [1, 2, 3], null);
const [one, two] = run as [HotBlock, HotBlock];

/** A reader whose journal has these bytes by payload. It notes what it reads. */
function start(limits: Partial<DatasetLimits>, journal: (id: number) => Uint8Array) {
  const reads: unknown[] = [];
  const given: Uint8Array[] = [];
  const segments = {
    readHeaders: async ({ id }: SealedSegment) => {
      reads.push(id);
      return run.map(({ header }) => header);
    },
    readList: async ({ id }: SegmentList) => {
      reads.push(id);
      return { kind: 'segments', segments: [] };
    },
  } as unknown as SegmentFiles;
  const readPayload = async (id: number) => {
    reads.push(id);
    const bytes = journal(id);
    given.push(bytes);
    return bytes;
  };
  const reader = new BlockReader({ ...datasetLimits, ...limits }, { segments, readPayload });
  return { reader, reads, given };
}

/** Smaller buffers are not freed at once. */
const large = 1 << 14;
const filled = (id: number) => new Uint8Array(large).fill(id);

test('default: new blocks are read from memory and others from the journal, as copies', async () => {
  const { reader, reads, given } = start({}, filled);
  const own = filled(1);
  reader.addPayloads([{ id: 1, bytes: own }]);
  const copy = await reader.readHotBlock(one);
  expect([reads, copy.length, copy[5]]).toEqual([[], large, 1]);
  copy.fill(9);
  expect((await reader.readHotBlock(one))[5]).toBe(1);
  const other = await reader.readHotBlock(two);
  expect([reads, other.length, other[5]]).toEqual([[2], large, 2]);
  // The bytes from the journal were copied, so their memory is freed; that of the cache is not.
  expect([given[0]?.byteLength, own.byteLength]).toEqual([0, large]);
});

test('behavior: a copy is made in the memory that the caller provides', async () => {
  const { reader } = start({}, filled);
  const target = new Uint8Array(large);
  const lengths: number[] = [];
  const copy = await reader.readHotBlock(one, (length) => {
    lengths.push(length);
    return target;
  });
  expect([copy === target, target[0], lengths]).toEqual([true, 1, [large]]);
});

test('limit: the newest bytes that fit are kept, and others are freed', async () => {
  const { reader, reads } = start({ payloadCacheBytesMax: 2 * large }, filled);
  const payloads = [1, 2, 3].map((id) => ({ id, bytes: filled(id) }));
  reader.addPayloads(payloads);
  expect(payloads.map(({ bytes }) => bytes.byteLength)).toEqual([0, large, large]);
  for (const block of run) await reader.readHotBlock(block);
  expect(reads).toEqual([1]);
  const tooLarge = new Uint8Array(2 * large + 1);
  reader.addPayloads([{ id: 4, bytes: tooLarge }]);
  expect([tooLarge.byteLength, payloads[2]?.bytes.byteLength]).toEqual([0, large]);
  const whole = new Uint8Array(2 * large);
  reader.addPayloads([{ id: 5, bytes: whole }]);
  expect([whole.byteLength, payloads[2]?.bytes.byteLength]).toEqual([2 * large, 0]);
});

test('limit: headers of segments are kept if they fit, and count as 400 bytes each', async () => {
  const segment = sealRun(run);
  for (const [headerCacheBytesMax, expected] of [
    [1_200, [segment.id]],
    [1_199, [segment.id, segment.id]],
  ] as const) {
    const { reader, reads } = start({ headerCacheBytesMax }, filled);
    const headers = await reader.readHeaders(segment);
    expect(headers).toEqual(run.map(({ header }) => header));
    expect(await reader.readHeaders(segment)).toEqual(headers);
    expect(reads).toEqual(expected);
  }
});

test('behavior: headers and lists of removed files are freed', async () => {
  const { reader, reads } = start({}, filled);
  const segment = sealRun(run);
  const list = { ...segment, id: 'list', depth: 0, segmentCount: 1 };
  const read = async () => [await reader.readHeaders(segment), await reader.readList(list)];
  await read();
  await read();
  expect(reads).toEqual([segment.id, 'list']);
  reader.forget([`segments/${segment.id}`, 'lists/list', 'indexes/other']);
  await read();
  expect(reads).toEqual([segment.id, 'list', segment.id, 'list']);
});

test('limit: the 256 lists that were used last are in memory', async () => {
  const { reader, reads } = start({}, filled);
  const list = { ...sealRun(run), depth: 0, segmentCount: 1 };
  const read = (id: number) => reader.readList({ ...list, id: `${id}` });
  for (let id = 0; id <= 256; id++) await read(id);
  reads.length = 0;
  await read(256);
  await read(1);
  expect(reads).toEqual([]);
  await read(0);
  expect(reads).toEqual(['0']);
});
