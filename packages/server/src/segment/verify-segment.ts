import { type CodedError, isCodedError } from '../base/errors.ts';
import { BLOCK_COLUMN_NAMES } from './block-columns.ts';
import { COLUMN_NAMES } from './columns.ts';
import type { Directory } from './directory.ts';
import type { Segment } from './open-segment.ts';
import { decodeUnit, type UnitEntry } from './unit.ts';

/** Every unit of a segment, against its checksum and decoded: one error a damaged unit, each with its name. */
export function verifySegment({ bytes, directory }: Segment): CodedError[] {
  const faults: CodedError[] = [];
  for (const [name, entry] of listUnits(directory)) {
    try {
      decodeUnit(bytes.read(entry.offset, entry.storedLength), entry, name);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      faults.push(error);
    }
  }
  return faults;
}

/** The names are those that reading a damaged unit names. */
function* listUnits(directory: Directory): Generator<readonly [string, UnitEntry]> {
  for (const [i, entry] of directory.blockUnits.entries()) {
    yield [`blocks.${BLOCK_COLUMN_NAMES[i]}`, entry];
  }
  yield ['filter.buckets', directory.bucketCounts];
  yield ['filter.fingerprints', directory.fingerprints];
  yield ['index.ids', directory.ids];
  for (const [i, entry] of directory.dictionaryPages.entries())
    yield [`dictionary page ${i}`, entry];
  for (const [i, entry] of directory.postingsPages.entries()) yield [`postings page ${i}`, entry];
  for (const [group, { units }] of directory.groups.entries()) {
    for (const [i, entry] of units.entries()) yield [`group ${group}.${COLUMN_NAMES[i]}`, entry];
  }
}
