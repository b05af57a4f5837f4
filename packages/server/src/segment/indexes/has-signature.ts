import { SECTIONS, shapeOf } from '../layout/columns.ts';
import type { StoredSection } from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import type { Segment } from '../read/open-segment.ts';
import { SegmentIndex } from './segment-index.ts';

const section = SECTIONS.indexOf('signatures');
const signatureBytes = 64;

/**
 * Returns whether a transaction of the segment has the signature. It compares stored bytes and decodes nothing, so it also
 * returns true if the index lists a transaction but the signatures are not stored as this version writes them.
 */
export function hasSignature(segment: Segment, signature: Uint8Array): boolean {
  const candidates = new SegmentIndex(segment).findSignature(signature);
  if (candidates.length === 0) return false;
  if (!isPlainSignatures(segment.directory.sections[section])) return true;
  return candidates.some((transaction) => isOnPage(segment, transaction, signature));
}

/** Returns whether the section has the signatures one after another, and nothing else. */
export function isPlainSignatures(stored: StoredSection | undefined): boolean {
  const [column, ...others] = stored?.columns ?? [];
  const isOurs = column?.id === shapeOf('txSignatures').id && column.unit === signatureBytes;
  return isOurs && others.length === 0 && stored?.isPacked === false;
}

/** Returns whether the page of the transaction has the signature. A page has a few transactions of the same segment. */
function isOnPage(segment: Segment, transaction: number, signature: Uint8Array): boolean {
  const { groups } = segment.directory;
  const number = groups.findLastIndex((group) => group.firstTransaction <= transaction);
  const group = groups[number] as GroupEntry;
  const page = Math.floor((transaction - group.firstTransaction) / group.pageTransactions);
  const lengths = segment.readPageTable(number)[section] ?? new Uint32Array(0);
  let offset = group.sections[section]?.offset ?? 0;
  for (const length of lengths.subarray(0, page)) offset += length;
  const bytes = segment.readPlain(offset, lengths[page] ?? 0, `group ${number}.signatures`);
  for (let at = 0; at < bytes.length; at += signatureBytes)
    if (Buffer.compare(bytes.subarray(at, at + signatureBytes), signature) === 0) return true;
  return false;
}
