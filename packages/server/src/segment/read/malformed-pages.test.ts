/** Pages with wrong bytes but valid checksums, from a faulty writer or a malicious file. */

import { isCodedError } from '@sluice/base/errors';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { pagedSectionCount, SECTIONS } from '../layout/columns.ts';
import { PART } from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildSegment } from '../write/build-segment.ts';
import { decodeGroup, type StoredGroup } from './decode-group.ts';
import { openSegment } from './open-segment.ts';

const content = { profile: '2025', transactionsPerBlock: 3 } as const;
const simulated = simulatedBlocks({ content, firstSlot: 1_000, blockCount: 530 });
const samples = Array.from({ length: 30 }, (_, slot) => sampleBlock(slot));
const segments = [buildSegment(simulated), buildSegment(samples)].map((own) => openSegment(own));

/** Returns the last row group of a segment: small pages with dictionaries in the first, large ones without in the second. */
function storedGroup(of: number): StoredGroup {
  const segment = segments[of] as (typeof segments)[number];
  const number = segment.directory.groups.length - 1;
  const entry = segment.directory.groups[number] as GroupEntry;
  const lengths = segment.readPageTable(number);
  const sections = entry.sections.map(({ offset, storedLength }, section) => ({
    bytes: segment.readPlain(offset, storedLength, 'section').slice(),
    lengths: lengths[section] as Uint32Array,
    dictionary: segment.readSectionDictionary(section).slice(),
  }));
  return { number, entry, layout: segment.directory.sections, sections };
}

const groups = [storedGroup(0), storedGroup(1)] as const;

test('behavior: the groups differ in pages and dictionaries', () => {
  expect(groups.map(({ entry }) => entry.pageTransactions)).toEqual([4, 64]);
  expect(segments[0]?.partCount(PART.sectionDictionary)).toBeGreaterThan(3);
  expect(segments[1]?.partCount(PART.sectionDictionary)).toBe(0);
  for (const group of groups) expect(decodeGroup(group).txIndex.length).toBeGreaterThan(20);
});

/** Returns the same group with some bytes of a section changed. */
function changed(group: StoredGroup, section: number, changes: readonly [number, number][]) {
  const sections = group.sections.map((own, i) => {
    if (i !== section) return own;
    const bytes = own.bytes.slice();
    for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
    return { ...own, bytes };
  });
  return { ...group, sections };
}

function judge(group: StoredGroup): string {
  try {
    decodeGroup(group);
    return 'decoded';
  } catch (error) {
    if (!isCodedError(error, 'segment-damaged')) throw error;
    return String(error.detail['unit']);
  }
}

test('property: changed bytes decode to something or are refused as damage of a page, and other pages decode as before', () => {
  const change = fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0x7f, 0x80, 0xff)));
  const cases = fc.record({
    of: fc.constantFrom(0, 1),
    section: fc.nat(SECTIONS.length - 1),
    changes: fc.array(change, { minLength: 1, maxLength: 6 }),
  });
  let refused = 0;
  fc.assert(
    fc.property(cases, ({ of, section, changes }) => {
      const group = groups[of] as StoredGroup;
      const found = judge(changed(group, section, changes));
      if (found === 'decoded') return;
      refused++;
      // Wrong counts may be detected only where they are used, in a later section.
      const [, name, page] = /^group \d+\.(\w+) page (\d+)$/.exec(found) as RegExpExecArray;
      const named = SECTIONS.indexOf(name as (typeof SECTIONS)[number]);
      expect(named).toBeGreaterThanOrEqual(section);
      expect(Number(page)).toBeLessThan(group.sections[named]?.lengths.length as number);
    }),
    { numRuns: 1_500 },
  );
  expect(refused).toBeGreaterThan(300);
  // The kernel keeps no state of the refused pages.
  for (const group of groups) expect(judge(group)).toBe('decoded');
});

test('error: segment-damaged names the page with an endless varint', () => {
  const group = groups[0];
  SECTIONS.slice(0, pagedSectionCount).forEach((name, section) => {
    if (name === 'signatures' || name === 'keys') return;
    const { lengths } = group.sections[section] as StoredGroup['sections'][number];
    const page = lengths.length - 1;
    const start = lengths.subarray(0, page).reduce((sum, length) => sum + length, 0);
    const all = Array.from({ length: lengths[page] as number }, (_, i): [number, number] => [
      start + i,
      0xff,
    ]);
    expect(judge(changed(group, section, all))).toBe(`group ${group.number}.${name} page ${page}`);
  });
});
