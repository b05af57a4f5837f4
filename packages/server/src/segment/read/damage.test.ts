/** Damage anywhere in a segment of realistic size is detected, and the error names the damaged part. */
import { crc32 } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { chunkBytes } from '../encoding/chunk-checksums.ts';
import { SECTIONS } from '../layout/columns.ts';
import { footerBytes, headerBytes, PART } from '../layout/directory.ts';
import { namesAt, plainRegions, unitRegions } from '../testing/plain-regions.ts';
import { replacePlain } from '../testing/rewrite-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { openSegment, readSegmentHeaders, type Segment, verifySegment } from './open-segment.ts';

const content = { profile: '2025', transactionsPerBlock: 230, epochRewardsPerBlock: 30 } as const;
const blocks = simulatedBlocks({ content, firstSlot: 432_290, blockCount: 12 });
const bytes = buildSegment(blocks);
const { directory } = openSegment(bytes);

const plain = plainRegions(openSegment(bytes));
const units = unitRegions(openSegment(bytes));
const namesOf = (at: number) => namesAt(plain, at).map((unit) => `segment-damaged: ${unit}`);

/** Returns the code and unit of the error from reading a damaged copy. */
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

test('error: segment-damaged names a page with a valid checksum that cannot be decoded', () => {
  const group = 1;
  const section = SECTIONS.indexOf('instructions');
  const place = directory.groups[group]?.sections[section] as { offset: number };
  const lengths = openSegment(bytes).readPageTable(group)[section] as Uint32Array;
  const page = 17;
  const start = place.offset + lengths.subarray(0, page).reduce((sum, length) => sum + length, 0);
  const changed = bytes.slice(0, directory.plainBytes);
  changed.fill(0xff, start, start + (lengths[page] as number));
  const faults = verifySegment(openSegment(replacePlain(bytes, changed)));
  expect(faults.map(({ code, detail }) => [code, detail])).toEqual([
    [
      'segment-damaged',
      { unit: `group ${group}.instructions page ${page}`, reason: 'it does not decode' },
    ],
  ]);
  expect(verifySegment(openSegment(bytes))).toEqual([]);
});

test('behavior: headers are read by byte range, without the rest of the file', async () => {
  let readBytes = 0;
  const remote = {
    length: bytes.length,
    read: async (offset: number, length: number) => {
      readBytes += length;
      return bytes.subarray(offset, offset + length);
    },
  };
  expect(await readSegmentHeaders(remote)).toEqual(openSegment(bytes).headers.toArray());
  expect(readBytes).toBeLessThan(bytes.length / 20);
});

describe('a segment of realistic size', () => {
  test('behavior: the segment has several row groups and dictionaries, and every byte belongs to a part', () => {
    expect(directory.groups.length).toBeGreaterThan(1);
    const dictionaries = directory.parts.filter(({ kind }) => kind === PART.sectionDictionary);
    expect(dictionaries.length).toBeGreaterThan(3);
    let end = headerBytes;
    for (const { unit, offset, length } of [...plain, ...units]) {
      // Only keys are padded with zeros to a chunk boundary.
      const isPadded = unit === 'keys 0' && offset % chunkBytes === 0 && offset - end < chunkBytes;
      if (isPadded) expect(bytes.subarray(end, offset).every((byte) => byte === 0)).toBe(true);
      else expect(offset, unit).toBe(end);
      end = offset + length;
    }
  });

  test('error: segment-damaged names the damaged part, whichever bit of it is flipped (I-76, F-22)', () => {
    expect(plain.length + units.length).toBeGreaterThan(60);
    plain.forEach(({ unit, offset, length, read }, number) => {
      for (const place of [0, length >> 1, length - 1]) {
        const at = offset + place;
        const names = namesOf(at);
        expect(names, unit).toContain(`segment-damaged: ${unit}`);
        expect(names).toContain(judge(flip(at, number % 8), read));
      }
    });
    units.forEach(({ unit, offset, length, read }, number) => {
      for (const place of [0, length >> 1, length - 1])
        expect(judge(flip(offset + place, number % 8), read)).toBe(`segment-damaged: ${unit}`);
    });
  });

  test('error: damage in a long section always has the same name', () => {
    const long = plain.filter(({ length }) => length > 4 * chunkBytes);
    expect(long.length).toBeGreaterThan(10);
    for (const { unit, offset, length, read } of long) {
      const at = offset + (length >> 1);
      expect(namesOf(at)).toEqual([`segment-damaged: ${unit}`]);
      expect(judge(flip(at, 3), read)).toBe(`segment-damaged: ${unit}`);
    }
  });

  test('error: verification also detects every flipped bit in padding', () => {
    const keys = directory.parts.find(({ kind }) => kind === PART.keys)?.entry.offset as number;
    const faults = verifySegment(openSegment(flip(keys - 1, 0)));
    expect(faults.map(({ code }) => code)).toContain('segment-damaged');
  });

  test('error: every bit of header and footer, and sampled bits of the directory, are protected', () => {
    for (let at = 0; at < 8; at++) expect(judge(flip(at, at))).toBe('segment-not-one');
    for (let at = 8; at < headerBytes; at++)
      expect(judge(flip(at, at % 8))).toBe('segment-damaged: header');
    const footer = bytes.length - footerBytes;
    for (let at = footer; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++)
        expect(judge(flip(at, bit))).toBe('segment-damaged: footer');
    }
    const start = Math.max(...units.map(({ offset, length }) => offset + length));
    for (let at = start; at < footer; at += 97) {
      expect(judge(flip(at, at % 8))).toBe('segment-damaged: directory');
    }
  });

  test('error: missing or additional bytes at the end are detected', () => {
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

  test('error: segment-version-unknown names the version and the supported one', () => {
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
