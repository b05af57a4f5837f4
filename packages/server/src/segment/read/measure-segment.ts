/** Measures the parts of a segment. Every byte of the file is in exactly one row. */
import { SECTIONS } from '../layout/columns.ts';
import { decodeFooter, footerBytes, headerBytes, PART } from '../layout/directory.ts';
import { partName, type Segment } from './open-segment.ts';

export interface MeasuredPart {
  readonly table: string;
  readonly name: string;
  /** The number of separately stored pieces. */
  readonly pieceCount: number;
  readonly storedBytes: number;
}

export function measureSegment(segment: Segment): MeasuredPart[] {
  const { directory, bytes } = segment;
  const { groups } = directory;
  const sections = directory.sections.map((_, number) => ({
    table: 'row groups',
    name: SECTIONS[number] ?? `section ${number}`,
    pieceCount: groups.length,
    storedBytes: sum(groups.map(({ sections }) => sections[number]?.storedLength ?? 0)),
  }));
  const pageTables = sum(groups.map(({ pageTable }) => pageTable.length));
  const footer = bytes.read(bytes.length - footerBytes, footerBytes);
  const { storedLength } = decodeFooter(footer, bytes.length);
  return [
    ...sections,
    {
      table: 'row groups',
      name: 'page tables',
      pieceCount: groups.length,
      storedBytes: pageTables,
    },
    ...measureParts(segment),
    { table: 'frame', name: 'directory', pieceCount: 1, storedBytes: storedLength },
    { table: 'frame', name: 'padding', pieceCount: 1, storedBytes: paddingBytes(segment) },
    {
      table: 'frame',
      name: 'header and footer',
      pieceCount: 2,
      storedBytes: headerBytes + footerBytes,
    },
  ];
}

/** The padding between the last row group and the keys, which start at a chunk boundary. */
function paddingBytes(segment: Segment): number {
  const last = segment.directory.groups.at(-1)?.sections.at(-1);
  const end = last === undefined ? headerBytes : last.offset + last.storedLength;
  return segment.partEntry(PART.keys, 0).offset - end;
}

/** A part of an index is divided into these arrays. */
const INDEX_ARRAYS = ['blocks', 'fingerprints', 'values'];

function measureParts({ directory }: Segment): MeasuredPart[] {
  const measured = new Map<string, { table: string; name: string; sizes: number[] }>();
  for (const { kind, number, entry } of directory.parts) {
    const [table, name] = labelOf(kind, number);
    const key = `${table}.${name}`;
    const part = measured.get(key) ?? { table, name, sizes: [] };
    part.sizes.push(entry.storedLength);
    measured.set(key, part);
  }
  return [...measured.values()].map(({ table, name, sizes }) => ({
    table,
    name,
    pieceCount: sizes.length,
    storedBytes: sum(sizes),
  }));
}

function labelOf(kind: number, number: number): [table: string, name: string] {
  switch (kind) {
    case PART.blockColumn:
      return ['blocks', partName(kind, number).slice('blocks.'.length)];
    case PART.sectionDictionary:
      return ['section dictionaries', SECTIONS[number] ?? `section ${number}`];
    case PART.addressIndex:
      return ['address index', INDEX_ARRAYS[number] ?? String(number)];
    case PART.signatureIndex:
      return ['signature index', INDEX_ARRAYS[number] ?? String(number)];
    default:
      return ['tables', partName(kind, number).replace(/ \d+$/, '')];
  }
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
