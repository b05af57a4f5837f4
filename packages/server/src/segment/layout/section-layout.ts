/** The columns of each section in the order in which this version writes them. */
import * as layout from '@sluice/kernels/layout/columns';
import { CODING, COLUMN_NAMES, type ColumnName, DOMAINS, SECTIONS, shapeOf } from './columns.ts';
import type { StoredColumn, StoredSection } from './directory.ts';

/** The names of a section's columns, by section number. */
export const SECTION_COLUMNS: readonly (readonly ColumnName[])[] = SECTIONS.map((section) =>
  COLUMN_NAMES.filter((name) => shapeOf(name).section === section),
);

/** Signatures are random bytes, which do not compress. */
const unpacked = SECTIONS.indexOf('signatures');

/** The description of the sections in a segment. */
export const SECTION_LAYOUT: readonly StoredSection[] = SECTION_COLUMNS.map((names, section) => ({
  isPacked: section !== unpacked,
  columns: names.map(storedColumn),
}));

function storedColumn(name: ColumnName): StoredColumn {
  const { id, coding, domain, adds, unit } = shapeOf(name);
  return {
    id,
    coding: CODING[coding],
    domain: DOMAINS.indexOf(domain),
    adds: adds === undefined ? 0 : DOMAINS.indexOf(adds) + 1,
    unit: unit ?? 0,
  };
}

const NAMES_BY_ID: ReadonlyMap<number, ColumnName> = new Map(
  COLUMN_NAMES.map((name) => [shapeOf(name).id, name]),
);

/** Returns the column with that id, or undefined if a later version added it. */
export function columnNamed(id: number): ColumnName | undefined {
  return NAMES_BY_ID.get(id);
}

/** Returns the bytes of a decoded value of the column. */
export function valueBytes({ coding, unit }: StoredColumn): number {
  if (coding === CODING.bytes) return unit;
  return coding === CODING.long ? 8 : 4;
}

export interface LocatedColumn {
  readonly column: StoredColumn;
  readonly values: number;
  readonly capacity: number;
}

/** Describes the columns of a section to the kernel. `beginGroup` sets the rest for each row group. */
export function writeDescriptors(
  ints: Uint32Array,
  at: number,
  placed: readonly LocatedColumn[],
): void {
  let descriptor = at;
  for (const { column, values, capacity } of placed) {
    const { coding, domain, adds, unit } = column;
    ints[(descriptor + layout.DESCRIPTOR_CODING) / 4] = coding;
    ints[(descriptor + layout.DESCRIPTOR_DOMAIN) / 4] = domain;
    ints[(descriptor + layout.DESCRIPTOR_ADDS) / 4] = adds;
    ints[(descriptor + layout.DESCRIPTOR_VALUES) / 4] = values;
    ints[(descriptor + layout.DESCRIPTOR_COUNT) / 4] = 0;
    ints[(descriptor + layout.DESCRIPTOR_CAPACITY) / 4] = capacity;
    ints[(descriptor + layout.DESCRIPTOR_UNIT) / 4] = unit;
    ints[(descriptor + layout.DESCRIPTOR_LAST) / 4] = 0;
    descriptor += layout.DESCRIPTOR_BYTES;
  }
}

/** Tells the kernel which ids are new in a row group: the ids above the highest id in earlier groups of the segment. */
export function beginGroup(
  ints: Uint32Array,
  at: number,
  columns: readonly StoredColumn[],
  highestBefore: number,
): void {
  let descriptor = at;
  for (const { coding } of columns) {
    if (coding === CODING.keys) {
      ints[(descriptor + layout.DESCRIPTOR_UNIT) / 4] = highestBefore;
      ints[(descriptor + layout.DESCRIPTOR_LAST) / 4] = highestBefore;
    }
    descriptor += layout.DESCRIPTOR_BYTES;
  }
}
