/** Damage anywhere in a segment of real size is noticed, and the error names what is damaged. */
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isCodedError } from '../base/errors.ts';
import { simulatedBlocks } from '../simulator/testing/simulated-blocks.ts';
import { BLOCK_COLUMN_NAMES } from './block-columns.ts';
import { buildSegment } from './build-segment.ts';
import { COLUMN_NAMES } from './columns.ts';
import { footerBytes, type GroupEntry, headerBytes } from './directory.ts';
import { bytesInMemory, openSegment, readSegmentHeaders, Segment } from './open-segment.ts';
import { CODEC, type UnitEntry } from './unit.ts';
import { verifySegment } from './verify-segment.ts';

const content = { profile: '2025', transactionsPerBlock: 230, epochRewardsPerBlock: 30 } as const;
const blocks = simulatedBlocks({ content, firstSlot: 432_290, blockCount: 12 });
const bytes = buildSegment(blocks);
const { directory } = openSegment(bytes);

interface Region {
  readonly unit: string;
  readonly entry: UnitEntry;
  readonly read: (segment: Segment) => unknown;
}

/** Every unit with what reads it. */
function regions(): Region[] {
  const group = directory.groups.flatMap(({ units }, number) =>
    COLUMN_NAMES.map((name, column) => ({
      unit: `group ${number}.${name}`,
      entry: units[column] as UnitEntry,
      read: (segment: Segment) => segment.readGroup(number),
    })),
  );
  const blockTable = BLOCK_COLUMN_NAMES.map((name, column) => ({
    unit: `blocks.${name}`,
    entry: directory.blockUnits[column] as UnitEntry,
    read: (segment: Segment) => [segment.headers, segment.counts],
  }));
  const pages = (
    name: string,
    entries: readonly UnitEntry[],
    read: (s: Segment, n: number) => unknown,
  ) =>
    entries.map((entry, number) => ({
      unit: `${name} page ${number}`,
      entry,
      read: (segment: Segment) => read(segment, number),
    }));
  const filter = (segment: Segment) => segment.readFilter();
  return [
    ...group,
    ...blockTable,
    ...pages('dictionary', directory.dictionaryPages, (s, n) => s.readDictionaryPage(n)),
    ...pages('postings', directory.postingsPages, (s, n) => s.readPostingsPage(n)),
    { unit: 'filter.buckets', entry: directory.bucketCounts, read: filter },
    { unit: 'filter.fingerprints', entry: directory.fingerprints, read: filter },
    { unit: 'index.ids', entry: directory.ids, read: (segment) => segment.readIndexIds() },
  ];
}

/** What reading a damaged copy ends with: code and unit. */
function judge(damaged: Uint8Array, read: (segment: Segment) => unknown = () => {}): string {
  try {
    read(openSegment(damaged));
    return 'nothing noticed';
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return 'unit' in error.detail ? `${error.code}: ${error.detail['unit']}` : error.code;
  }
}

function flip(at: number, bit: number): Uint8Array {
  const damaged = bytes.slice();
  damaged[at] = (damaged[at] as number) ^ (1 << bit);
  return damaged;
}

test('error: segment-damaged: a unit that has its checksum and does not decode is told by verifying', () => {
  const units = directory.groups[0]?.units as UnitEntry[];
  const column = units.findIndex(
    ({ codec, storedLength }) => codec === CODEC.lz4 && storedLength > 8,
  );
  const { offset, storedLength } = units[column] as UnitEntry;
  const changed = bytes.slice();
  changed.fill(0xff, offset, offset + storedLength);
  const checksum = crc32(changed.subarray(offset, offset + storedLength));
  const group = {
    ...directory.groups[0],
    units: units.map((unit, i) => (i === column ? { ...unit, checksum } : unit)),
  } as GroupEntry;
  const forged = { ...directory, groups: [group, ...directory.groups.slice(1)] };
  const faults = verifySegment(new Segment(bytesInMemory(changed), forged));
  expect(faults.map(({ code, detail }) => [code, detail])).toEqual([
    ['segment-damaged', { unit: `group 0.${COLUMN_NAMES[column]}`, reason: 'it does not decode' }],
  ]);
  expect(verifySegment(openSegment(bytes))).toEqual([]);
});

test('behavior: headers are read by range, without the rest of the file', async () => {
  let readBytes = 0;
  const remote = {
    length: bytes.length,
    read: async (offset: number, length: number) => {
      readBytes += length;
      return bytes.subarray(offset, offset + length);
    },
  };
  expect(await readSegmentHeaders(remote)).toEqual(openSegment(bytes).headers);
  expect(readBytes).toBeLessThan(bytes.length / 20);
});

describe('a segment of real size', () => {
  test('behavior: it has several row groups and pages, and no byte is outside of a unit', () => {
    expect(directory.groups.length).toBeGreaterThan(1);
    expect(directory.dictionaryPages.length).toBeGreaterThan(1);
    const entries = regions().map(({ entry }) => entry);
    let end = headerBytes;
    for (const { offset, storedLength } of entries.sort((a, b) => a.offset - b.offset)) {
      if (storedLength === 0) continue;
      expect(offset).toBe(end);
      end = offset + storedLength;
    }
  });

  test('error: segment-damaged names the unit, wherever in it a bit is flipped (I-76, F-22)', () => {
    const all = regions().filter(({ entry }) => entry.storedLength > 0);
    expect(all.length).toBeGreaterThan(120);
    all.forEach(({ unit, entry, read }, number) => {
      const last = entry.storedLength - 1;
      // Of a row group all columns are read at each flip, so each has one; the rest have its ends and middle.
      const places = unit.startsWith('group')
        ? [(number * 7_919) % (last + 1)]
        : [0, last >> 1, last];
      for (const place of places) {
        expect(judge(flip(entry.offset + place, number % 8), read)).toBe(
          `segment-damaged: ${unit}`,
        );
      }
    });
  });

  test('error: every bit of header and footer, and sampled ones of the directory', () => {
    for (let at = 0; at < 8; at++) expect(judge(flip(at, at))).toBe('segment-not-one');
    for (let at = 8; at < headerBytes; at++)
      expect(judge(flip(at, at % 8))).toBe('segment-damaged: header');
    const footer = bytes.length - footerBytes;
    for (let at = footer; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++)
        expect(judge(flip(at, bit))).toBe('segment-damaged: footer');
    }
    const start = Math.max(...regions().map(({ entry }) => entry.offset + entry.storedLength));
    for (let at = start; at < footer; at += 97) {
      expect(judge(flip(at, at % 8))).toBe('segment-damaged: directory');
    }
  });

  test('error: bytes that are missing at the end, or too many', () => {
    for (const length of [
      headerBytes,
      headerBytes + 20,
      1_000,
      bytes.length - footerBytes,
      bytes.length - 1,
    ]) {
      expect(judge(bytes.slice(0, length))).toBe('segment-damaged: footer');
    }
    expect(judge(Uint8Array.from([...bytes, 0]))).toBe('segment-damaged: footer');
    expect(judge(bytes.slice(0, headerBytes - 1))).toBe('segment-not-one');
    expect(judge(new Uint8Array(0))).toBe('segment-not-one');
  });

  test('error: segment-version-unknown names the version, and the one that is known', () => {
    const other = bytes.slice();
    const view = new DataView(other.buffer);
    view.setUint32(8, 9, true);
    view.setUint32(12, crc32(other.subarray(0, 12)), true);
    expect(() => openSegment(other)).toThrow(
      expect.objectContaining({
        code: 'segment-version-unknown',
        detail: { version: 9, known: 1 },
      }),
    );
  });
});
