import { type CodedError, isCodedError } from '@sluice/base/errors';
import { PART } from '../layout/directory.ts';
import { partName, type Segment } from './open-segment.ts';

/** Parts without a checksum of their own. The checksums of their chunks protect them. */
const PLAIN_PARTS: ReadonlySet<number> = new Set([
  PART.keys,
  PART.addressIndex,
  PART.signatureIndex,
]);

/** Reads and decodes all of a segment. Returns one error for each damaged part and row group. */
export function verifySegment(segment: Segment): CodedError[] {
  const faults: CodedError[] = [];
  const attempt = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (!isCodedError(error)) throw error;
      faults.push(error);
    }
  };
  const { groups, parts } = segment.directory;
  groups.forEach((_, number) => {
    attempt(() => segment.readGroup(number));
  });
  for (const { kind, number, entry } of parts) {
    attempt(() =>
      PLAIN_PARTS.has(kind)
        ? segment.readPlain(entry.offset, entry.storedLength, partName(kind, number))
        : segment.readUnit(kind, number),
    );
  }
  return faults;
}
