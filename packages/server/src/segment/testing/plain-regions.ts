import { chunkBytes } from '../encoding/chunk-checksums.ts';
import { sectionName } from '../read/decode-group.ts';
import { partName, type Segment } from '../read/open-segment.ts';

/** A part of a segment and its name in errors. */
export interface Region {
  readonly unit: string;
  readonly offset: number;
  readonly length: number;
  readonly read: (segment: Segment) => unknown;
}

/**
 * Returns the regions that are read in chunks, in the order of the file: tables of page lengths and sections of row groups, then keys and
 * indexes.
 */
export function plainRegions({ directory }: Segment): Region[] {
  const groups = directory.groups.flatMap(({ pageTable, sections }, number) => {
    const read = (segment: Segment) => segment.readGroup(number);
    return [
      { unit: `group ${number}.pages`, ...pageTable, read },
      ...sections.map(({ offset, storedLength: length }, section) => {
        return { unit: sectionName(number, section), offset, length, read };
      }),
    ];
  });
  const parts = directory.parts
    .filter(({ entry }) => entry.offset < directory.plainBytes)
    .map(({ kind, number, entry: { offset, storedLength: length } }) => {
      const read = (segment: Segment) => segment.readPart(kind, number, 0, length);
      return { unit: partName(kind, number), offset, length, read };
    });
  return [...groups, ...parts].filter(({ length }) => length > 0);
}

/** Returns the regions that are read whole and have their own checksum. */
export function unitRegions({ directory }: Segment): Region[] {
  return directory.parts
    .filter(({ entry }) => entry.offset >= directory.plainBytes && entry.storedLength > 0)
    .map(({ kind, number, entry: { offset, storedLength: length } }) => {
      const read = (segment: Segment) => segment.readUnit(kind, number);
      return { unit: partName(kind, number), offset, length, read };
    });
}

/** Several regions may share a damaged chunk. The damage is found when one of them is read, so each of their names is valid. */
export function namesAt(regions: readonly Region[], at: number): string[] {
  const chunk = Math.floor(at / chunkBytes);
  return regions
    .filter(({ offset, length }) => {
      const last = Math.floor((offset + length - 1) / chunkBytes);
      return chunk >= Math.floor(offset / chunkBytes) && chunk <= last;
    })
    .map(({ unit }) => unit);
}
