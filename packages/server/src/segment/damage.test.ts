/** Damage anywhere in a segment of real size is noticed, and the error names what is damaged. */
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isCodedError } from '../base/errors.ts';
import { simulatedBlocks } from '../simulator/testing/simulated-blocks.ts';
import { buildSegment } from './build-segment.ts';
import { chunkBytes } from './chunk-checksums.ts';
import { SECTIONS } from './columns.ts';
import { footerBytes, headerBytes, PART } from './directory.ts';
import { openSegment, partName, readSegmentHeaders, type Segment } from './open-segment.ts';
import { replacePlain } from './testing/rewrite-segment.ts';
import { verifySegment } from './verify-segment.ts';

const content = { profile: '2025', transactionsPerBlock: 230, epochRewardsPerBlock: 30 } as const;
const blocks = simulatedBlocks({ content, firstSlot: 432_290, blockCount: 12 });
const bytes = buildSegment(blocks);
const { directory } = openSegment(bytes);

interface Region {
  /** What an error calls it. */
  readonly unit: string;
  readonly offset: number;
  readonly length: number;
  readonly read: (segment: Segment) => unknown;
}

/** Tables of page lengths and sections of row groups, and everything else that is read by the chunk. */
const plainRegions: readonly Region[] = [
  ...directory.groups.flatMap(({ pageTable, sections }, number) => {
    const read = (segment: Segment) => segment.readGroup(number);
    return [
      { unit: `group ${number}.pages`, ...pageTable, read },
      ...sections.map(({ offset, storedLength: length }, section) => ({
        unit: `group ${number}.${SECTIONS[section]}`,
        offset,
        length,
        read,
      })),
    ];
  }),
  ...partRegions((offset) => offset < directory.plainBytes),
];
/** What is read whole. */
const unitRegions = partRegions((offset) => offset >= directory.plainBytes);

function partRegions(isWanted: (offset: number) => boolean): Region[] {
  return directory.parts
    .filter(({ entry }) => isWanted(entry.offset) && entry.storedLength > 0)
    .map(({ kind, number, entry: { offset, storedLength: length } }) => {
      const unit = partName(kind, number);
      const read = (segment: Segment) =>
        offset < directory.plainBytes
          ? segment.readPart(kind, number, 0, length)
          : segment.readUnit(kind, number);
      return { unit, offset, length, read };
    });
}

/** A chunk that lies in two regions is noticed when the first of them is read, so both are right names for damage in it. */
function namesOf(at: number): string[] {
  const chunk = Math.floor(at / chunkBytes);
  return plainRegions
    .filter(({ offset, length }) => {
      const last = Math.floor((offset + length - 1) / chunkBytes);
      return length > 0 && chunk >= Math.floor(offset / chunkBytes) && chunk <= last;
    })
    .map(({ unit }) => `segment-damaged: ${unit}`);
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

test('error: segment-damaged: a page that has its checksum and does not decode is named by verifying', () => {
  const group = 1;
  const section = SECTIONS.indexOf('instructions');
  const place = directory.groups[group]?.sections[section] as { offset: number };
  const lengths = openSegment(bytes).readPageTable(group)[section] as Uint32Array;
  const page = 17;
  const start = place.offset + lengths.subarray(0, page).reduce((sum, length) => sum + length, 0);
  const plain = bytes.slice(0, directory.plainBytes);
  plain.fill(0xff, start, start + (lengths[page] as number));
  const faults = verifySegment(openSegment(replacePlain(bytes, plain)));
  expect(faults.map(({ code, detail }) => [code, detail])).toEqual([
    [
      'segment-damaged',
      { unit: `group ${group}.instructions page ${page}`, reason: 'it does not decode' },
    ],
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
  test('behavior: it has several row groups and dictionaries, and every byte belongs to something', () => {
    expect(directory.groups.length).toBeGreaterThan(1);
    const dictionaries = directory.parts.filter(({ kind }) => kind === PART.sectionDictionary);
    expect(dictionaries.length).toBeGreaterThan(3);
    let end = headerBytes;
    for (const { unit, offset, length } of [...plainRegions, ...unitRegions]) {
      // Only keys begin with a chunk: up to there are zeros.
      const isPadded = unit === 'keys 0' && offset % chunkBytes === 0 && offset - end < chunkBytes;
      if (isPadded) expect(bytes.subarray(end, offset).every((byte) => byte === 0)).toBe(true);
      else expect(offset, unit).toBe(end);
      end = offset + length;
    }
  });

  test('error: segment-damaged names what is damaged, wherever in it a bit is flipped (I-76, F-22)', () => {
    expect(plainRegions.length + unitRegions.length).toBeGreaterThan(60);
    plainRegions.forEach(({ unit, offset, length, read }, number) => {
      for (const place of [0, length >> 1, length - 1].filter((at) => at >= 0 && at < length)) {
        const at = offset + place;
        const names = namesOf(at);
        expect(names, unit).toContain(`segment-damaged: ${unit}`);
        expect(names).toContain(judge(flip(at, number % 8), read));
      }
    });
    unitRegions.forEach(({ unit, offset, length, read }, number) => {
      for (const place of [0, length >> 1, length - 1])
        expect(judge(flip(offset + place, number % 8), read)).toBe(`segment-damaged: ${unit}`);
    });
  });

  test('error: damage inside of a long section has one name', () => {
    const long = plainRegions.filter(({ length }) => length > 4 * chunkBytes);
    expect(long.length).toBeGreaterThan(10);
    for (const { unit, offset, length, read } of long) {
      const at = offset + (length >> 1);
      expect(namesOf(at)).toEqual([`segment-damaged: ${unit}`]);
      expect(judge(flip(at, 3), read)).toBe(`segment-damaged: ${unit}`);
    }
  });

  test('error: verifying finds every bit that is flipped in padding too', () => {
    const keys = directory.parts.find(({ kind }) => kind === PART.keys)?.entry.offset as number;
    const faults = verifySegment(openSegment(flip(keys - 1, 0)));
    expect(faults.map(({ code }) => code)).toContain('segment-damaged');
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
    const start = Math.max(...unitRegions.map(({ offset, length }) => offset + length));
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
        detail: { version: 9, known: 2 },
      }),
    );
  });
});
