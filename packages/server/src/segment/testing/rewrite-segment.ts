/** Rewrites segments as this version never would, with valid checksums, to test how readers handle damaged segments and segments of later versions. */
import {
  encodePlainly,
  type PlainColumn,
  pushVarint,
} from '../../../../kernels/src/testing/plain-pages.ts';
import { ChunkChecksums, chunkBytes } from '../encoding/chunk-checksums.ts';
import { type EncodedUnit, plainUnits, type UnitEntry } from '../encoding/unit.ts';
import { CODING, DOMAINS, pagedSectionCount, SECTIONS } from '../layout/columns.ts';
import {
  type Directory,
  encodeDirectory,
  encodeFooter,
  encodeHeader,
  footerBytes,
  PART,
  type Part,
  type StoredColumn,
  type StoredSection,
} from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import { columnNamed, valueBytes } from '../layout/section-layout.ts';
import { openSegment, type Segment } from '../read/open-segment.ts';

const isPlain = ({ kind }: Part) =>
  kind === PART.keys || kind === PART.addressIndex || kind === PART.signatureIndex;

/** Returns the same segment with another plain part of the same length. */
export function replacePlain(bytes: Uint8Array, plain: Uint8Array): Uint8Array {
  const segment = openSegment(bytes);
  return assemble(
    plain,
    segment.directory,
    unitsOf(segment, () => true),
  );
}

interface OwnUnit {
  readonly kind: number;
  readonly number: number;
  readonly unit: EncodedUnit;
}

/** Returns the parts that are read whole, except the checksums, which are computed from the plain part. */
function unitsOf(segment: Segment, isWanted: (part: Part) => boolean): OwnUnit[] {
  return segment.directory.parts
    .filter((part) => !isPlain(part) && part.kind !== PART.checksums && isWanted(part))
    .map(({ kind, number, entry }) => {
      const stored = segment.bytes.read(entry.offset, entry.storedLength).slice();
      return { kind, number, unit: { ...entry, stored } };
    });
}

/** Assembles a file: the plain part, the units, the directory and the footer. */
function assemble(plain: Uint8Array, directory: Directory, units: readonly OwnUnit[]): Uint8Array {
  const pieces = [plain];
  let offset = plain.length;
  const place = ({ stored, ...entry }: EncodedUnit): UnitEntry => {
    pieces.push(stored);
    offset += stored.length;
    return { ...entry, offset: offset - stored.length };
  };
  const checksums = new ChunkChecksums();
  checksums.add(plain);
  const sums = new Uint8Array(checksums.finish().buffer);
  const parts = [
    ...directory.parts.filter(isPlain),
    ...units.map(({ kind, number, unit }) => ({ kind, number, entry: place(unit) })),
    { kind: PART.checksums, number: 0, entry: place(plainUnits.bytes(sums)) },
  ];
  const changed = { ...directory, plainBytes: plain.length, parts };
  const encoded = plainUnits.bytes(encodeDirectory(changed));
  const entry = place(encoded);
  pieces.push(encodeFooter({ ...encoded, ...entry }, offset + footerBytes));
  return Uint8Array.from(Buffer.concat(pieces));
}

export interface Rewriting {
  /** The content of the sections. Sections after the known ones have one page per row group with the bytes of `unknownPage`. */
  readonly layout: readonly StoredSection[];
  readonly unknownPage?: Uint8Array;
  readonly pageTransactions?: number;
  /** The values of columns that this version does not know, by row. */
  readonly unknownValue?: (row: number) => number;
  readonly extraParts?: readonly { kind: number; number: number; bytes: Uint8Array }[];
}

/** Returns the same blocks in sections with other columns, not compressed, written without the kernels. */
export function rewriteSegment(bytes: Uint8Array, rewriting: Rewriting): Uint8Array {
  const segment = openSegment(bytes);
  const pieces: Uint8Array[] = [encodeHeader()];
  let offset = pieces[0]?.length as number;
  const add = (piece: Uint8Array) => {
    pieces.push(piece);
    offset += piece.length;
    return offset - piece.length;
  };
  const groups = segment.directory.groups.map((entry, number): GroupEntry => {
    const pageTransactions = rewriting.pageTransactions ?? entry.pageTransactions;
    const sections = encodeSections(segment.readGroup(number), entry, rewriting);
    const table: number[] = [];
    for (const page of sections.flat()) pushVarint(table, BigInt(page.length));
    const pageTable = { offset: add(Uint8Array.from(table)), length: table.length };
    const places = sections.map((pages) => {
      const rawBytesMax = Math.max(0, ...pages.map(({ length }) => length));
      const storedLength = pages.reduce((sum, { length }) => sum + length, 0);
      return { offset: add(Buffer.concat(pages)), storedLength, rawBytesMax };
    });
    const { firstBlock, blockCount, firstTransaction, transactionCount, highestBefore } = entry;
    const rows = { firstBlock, blockCount, firstTransaction, transactionCount };
    const { totals } = entry;
    return { ...rows, highestBefore, totals, pageTransactions, pageTable, sections: places };
  });
  add(new Uint8Array(-offset & (chunkBytes - 1)));
  const parts = segment.directory.parts.filter(isPlain).map((part) => {
    const { offset: from, storedLength } = part.entry;
    const moved = add(segment.bytes.read(from, storedLength).slice());
    return { ...part, entry: { ...part.entry, offset: moved } };
  });
  const extra = (rewriting.extraParts ?? []).map(({ kind, number, bytes: own }) => ({
    kind,
    number,
    unit: plainUnits.bytes(own),
  }));
  const units = unitsOf(segment, ({ kind }) => kind !== PART.sectionDictionary);
  const sections = rewriting.layout.map(({ columns }) => ({ isPacked: false, columns }));
  const directory = { ...segment.directory, groups, sections, parts };
  return assemble(Uint8Array.from(Buffer.concat(pieces)), directory, [...extra, ...units]);
}

/** Returns the pages of each section. */
function encodeSections(
  rows: GroupRows,
  entry: GroupEntry,
  { layout, unknownPage, pageTransactions, unknownValue }: Rewriting,
): Uint8Array[][] {
  const none = () => DOMAINS.map(() => 0);
  const counts = Array.from({ length: entry.transactionCount }, () => {
    const own = none();
    own[DOMAINS.indexOf('transaction')] = 1;
    return own;
  });
  const whole = none();
  for (const domain of ['reward', 'text'] as const) {
    const number = DOMAINS.indexOf(domain);
    whole[number] = entry.totals[number] as number;
  }
  const options = {
    pageTransactions: pageTransactions ?? entry.pageTransactions,
    highestBefore: entry.highestBefore,
  };
  return layout.map(({ columns }, section) => {
    if (section >= SECTIONS.length) return [unknownPage ?? new Uint8Array(0)];
    const plain = columns.map(
      (column): PlainColumn => ({
        ...column,
        values: valuesOf(rows, column, entry, unknownValue),
      }),
    );
    return encodePlainly(plain, section < pagedSectionCount ? counts : [whole], options);
  });
}

function valuesOf(
  rows: GroupRows,
  column: StoredColumn,
  entry: GroupEntry,
  unknownValue: (row: number) => number = () => 0,
): PlainColumn['values'] {
  const name = columnNamed(column.id);
  if (name !== undefined) return rows[name].values;
  const width = column.coding === CODING.bytes ? valueBytes(column) : 1;
  const count = (entry.totals[column.domain] as number) * width;
  return Array.from({ length: count }, (_, row) => unknownValue(row));
}
