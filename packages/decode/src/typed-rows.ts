/** Reads the values of instructions, or of the events that they emitted, into columns. */
import { elementAt } from '@sluice/base/element-at';
import type { DataRange } from './data-range.ts';
import type { DecodedLayout, MintSource } from './decoded-layout.ts';
import type { MintDecimals } from './mint-decimals.ts';
import { NO_LAYOUT, type TypedTarget } from './program-decoder.ts';
import type { FoundEvent, RowTexts, TableRow } from './row-texts.ts';
import { ColumnBuffer } from './typed-layout.ts';

/** The values of some rows. */
export class TypedRows {
  readonly count: number;
  /** Of events: the position of the row of the instruction of each. Undefined if the rows are instructions. */
  readonly positions: Uint32Array | undefined;
  /** Of events: the position of each among those of its instruction. */
  readonly indexes: ColumnBuffer;
  readonly buffers: readonly ColumnBuffer[];
  /** For each account the position among those that were passed, or -1, by row. */
  readonly accounts: readonly Int32Array[];
  /** A list for each mint column, with the decimals of the mint in each row, or -1 if they are unknown. */
  readonly decimals: readonly ColumnBuffer[];
  /** Why a row has no values. */
  readonly errors: ColumnBuffer;

  constructor({ columns, mints, isEvent }: DecodedLayout, count: number) {
    this.count = count;
    this.positions = isEvent ? new Uint32Array(count) : undefined;
    this.indexes = new ColumnBuffer('uint32', isEvent ? count : 0);
    this.buffers = columns.args.map(({ type }) => new ColumnBuffer(type, count));
    this.accounts = columns.accounts.map(() => new Int32Array(count).fill(-1));
    this.decimals = mints.map(() => new ColumnBuffer('uint32', count));
    this.errors = new ColumnBuffer('text', count);
  }
}

/** The rows of instructions. A row is looked up when it is needed, because most are read without it. */
export interface ListedRows {
  readonly count: number;
  readonly at: (i: number) => TableRow;
}

export interface TypedSource {
  /** The texts of all keys of the rows are in memory, because the memory must not move between finding events and reading them. */
  readonly texts: RowTexts;
  /** Needed if decimals are wanted. */
  readonly decimals: MintDecimals | undefined;
  /** Reads the rows of instructions that are simple, and returns a byte for each row, which is 1 if it was read. */
  readonly readSimple: (typed: TypedRows) => Uint8Array | undefined;
  /** Reads all events of the rows, or returns undefined if one of them is not simple. */
  readonly readSimpleEvents: () => TypedRows | undefined;
}

export function readTypedRows(
  decoded: DecodedLayout,
  rows: ListedRows,
  source: TypedSource,
): TypedRows {
  const simple = decoded.isEvent ? source.readSimpleEvents() : undefined;
  const typed = simple ?? readRows(decoded, rows, source);
  if (decoded.mints.length > 0) findDecimals(typed, decoded.mints, rows, source);
  return typed;
}

function readRows(
  decoded: DecodedLayout,
  rows: ListedRows,
  { texts, readSimple }: TypedSource,
): TypedRows {
  const isOwn = programTest(decoded, texts);
  const events = decoded.isEvent ? findEvents(decoded.name, rows, texts, isOwn) : undefined;
  const typed = new TypedRows(decoded, events?.length ?? rows.count);
  const { buffers, accounts, errors } = typed;
  const target = { name: decoded.name, columns: decoded.columns, buffers, accounts };
  const isRead = readSimple(typed);
  for (let i = 0; i < typed.count; i++) {
    if (isRead?.[i] === 1) continue;
    const found = events?.[i];
    const row = rows.at(found?.position ?? i);
    if (found !== undefined) {
      if (typed.positions !== undefined) typed.positions[i] = found.position;
      typed.indexes.ints[i] = found.index;
    }
    const reason = isOwn(row) ? readRow(texts, row, i, { target, event: found?.event }) : NOT_OWN;
    errors.texts[i] = reason ?? null;
  }
  return typed;
}

/** Fills in the decimals of the mints of each row. */
function findDecimals(
  typed: TypedRows,
  mints: readonly MintSource[],
  rows: ListedRows,
  { texts, decimals }: TypedSource,
): void {
  for (let i = 0; i < typed.count; i++) {
    const row = rows.at(typed.positions?.[i] ?? i);
    for (let number = 0; number < mints.length; number++) {
      const mint = mintOf(typed, elementAt(mints, number), i, { texts, row });
      const known = mint === undefined ? -1 : (decimals?.find(row.transaction, mint) ?? -1);
      elementAt(typed.decimals, number).ints[i] = known;
    }
  }
}

const NOT_OWN = 'this is another program';

/** Returns the function that says whether a row belongs to the program. */
function programTest({ programId }: DecodedLayout, texts: RowTexts): (row: TableRow) => boolean {
  const known = new Map<number, boolean>();
  return ({ transaction, row }) => {
    const id = texts.programKey(transaction, row);
    let isOwn = known.get(id);
    if (isOwn === undefined) {
      isOwn = texts.keyText(id) === programId;
      known.set(id, isOwn);
    }
    return isOwn;
  };
}

interface PlacedEvent extends FoundEvent {
  readonly position: number;
}

function findEvents(
  name: string,
  rows: ListedRows,
  texts: RowTexts,
  isOwn: (row: TableRow) => boolean,
): readonly PlacedEvent[] {
  const events: PlacedEvent[] = [];
  for (let position = 0; position < rows.count; position++) {
    const row = rows.at(position);
    if (!isOwn(row)) continue;
    for (const { index, event } of texts.eventsNamed(name, row))
      events.push({ index, event, position });
  }
  return events;
}

/** Returns why a row has no values, or undefined. */
function readRow(
  texts: RowTexts,
  { slot, transaction, row }: TableRow,
  i: number,
  { target, event }: { readonly target: TypedTarget; readonly event: DataRange | undefined },
): string | undefined {
  const decoder = texts.decoder(slot, texts.programKey(transaction, row));
  if (decoder === undefined) return NO_LAYOUT.program;
  const caller = texts.data(row);
  const passed = texts.passed(transaction, row);
  return event === undefined
    ? decoder.readTyped(caller, i, passed, target)
    : decoder.readTypedEvent({ event, caller }, i, passed, target);
}

/** Returns the id of the key of an account, the text of an argument, or undefined if the row does not have it. */
function mintOf(
  { accounts, buffers, errors }: TypedRows,
  { head, number }: MintSource,
  i: number,
  { texts, row }: { readonly texts: RowTexts; readonly row: TableRow },
): number | string | undefined {
  if (head === 'args')
    return errors.texts[i] === null ? (buffers[number]?.texts[i] ?? undefined) : undefined;
  const position = accounts[number]?.[i] ?? -1;
  return position < 0 ? undefined : texts.accountKey(row.transaction, row.row, position);
}
