/** Decodes the instructions and events of one program to JSON text. The functions for its types are compiled once. */
import { Buffer } from 'node:buffer';
import { type ReadValue, TypeCompiler } from './compile-type.ts';
import { Cursor } from './cursor.ts';
import type { DataRange } from './data-range.ts';
import { byFirstByte, findLayout } from './find-layout.ts';
import type {
  IdlAccount,
  IdlInstruction,
  IdlLayout,
  ProgramDescription,
} from './program-description.ts';
import { type ColumnBuffer, type TypedColumns, TypedLayout } from './typed-layout.ts';

/** The first bytes of the data by which an Anchor program calls itself to record an event. */
const eventCallTag = Buffer.from('e445a52e51cb9a1d', 'hex');

/** Why data without a layout cannot be decoded. */
export const NO_LAYOUT = {
  program: 'no IDL is registered for this program and slot',
  instruction: 'the IDL describes no instruction with this data',
  event: 'the IDL describes no event with this data',
} as const;

export function rangeOf(bytes: Uint8Array): DataRange {
  const memory = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { memory, view, at: 0, end: bytes.length };
}

/** Returns whether data records an event of the program that is called, if the program called itself. */
export function isEventCall({ memory, at, end }: DataRange): boolean {
  return (
    memory[at] === 0xe4 && end - at >= 8 && memory.compare(eventCallTag, 0, 8, at, at + 8) === 0
  );
}

interface CompiledLayout<Layout extends IdlLayout> {
  readonly layout: Layout;
  readonly fields: readonly { readonly name: string; readonly read: ReadValue }[];
  /** The text before the first field. */
  readonly head: string;
  /** Compiled when it is first needed. */
  typed?: TypedLayout;
}

interface CompiledInstruction extends CompiledLayout<IdlInstruction> {
  readonly labels: readonly string[];
  /** The JSON text of the address of each account that is recognized by it. */
  readonly addresses: readonly (string | undefined)[];
  readonly requiredCount: number;
  readonly isPlain: boolean;
  /** The number of each account of the columns, for the columns that were read last. */
  accountPositions?: { readonly columns: TypedColumns; readonly numbers: readonly number[] };
}

/** The columns into which the values of rows are read. */
export interface TypedTarget {
  readonly name: string;
  readonly columns: TypedColumns;
  readonly buffers: readonly ColumnBuffer[];
  /** For each account the position among those that were passed, or -1, by row. */
  readonly accounts: readonly Int32Array[];
}

/** The accounts that were passed to an instruction. */
export interface PassedAccounts {
  readonly count: number;
  /** Returns their JSON texts. */
  readonly texts: () => readonly string[];
}

const cursor = new Cursor();

export class ProgramDecoder {
  readonly description: ProgramDescription;
  readonly #programText: string;
  readonly #address: string;
  readonly #instructions: readonly (readonly CompiledInstruction[])[];
  readonly #events: readonly (readonly CompiledLayout<IdlLayout>[])[];
  readonly #types: TypeCompiler;

  constructor(description: ProgramDescription) {
    this.description = description;
    this.#programText = `{"program":${JSON.stringify(description.name)}`;
    this.#address = JSON.stringify(description.address ?? '');
    const types = new TypeCompiler(description.types);
    this.#types = types;
    const compile = <Layout extends IdlLayout>(layout: Layout): CompiledLayout<Layout> => ({
      layout,
      fields: types.fields(layout.fields),
      head: `${this.#programText},"name":${JSON.stringify(layout.name)}`,
    });
    this.#instructions = byFirstByte(
      description.instructions.map((layout) => ({
        ...compile(layout),
        ...compileAccounts(layout),
      })),
    );
    this.#events = byFirstByte(description.events.map(compile));
  }

  get hasEvents(): boolean {
    return this.description.events.length > 0;
  }

  /**
   * Returns the JSON object of an instruction. `accounts` are JSON texts. `events` is the JSON text of the events that it emitted, without
   * brackets.
   */
  decodeInstruction(range: DataRange, accounts: readonly string[], events: string): string {
    const found = findLayout(this.#instructions, range);
    if (found === undefined) return this.#error(range, NO_LAYOUT.instruction);
    const args = this.#readFields(found, range);
    if (args === undefined) return cursor.text;
    return `${args}${nameAccounts(found, accounts, this.#address)},"events":[${events}]}`;
  }

  /** Reads the values of an instruction into columns. Returns why it has no values, or undefined. */
  readTyped(
    range: DataRange,
    row: number,
    passed: PassedAccounts,
    target: TypedTarget,
  ): string | undefined {
    const found = findLayout(this.#instructions, range);
    if (found === undefined) return NO_LAYOUT.instruction;
    if (found.layout.name !== target.name) return `this is the instruction ${found.layout.name}`;
    const fault = this.#readColumns(found, range, row, target);
    if (fault === undefined) this.#placeAccounts(found, row, passed, target);
    return fault;
  }

  /**
   * Reads the values of an event into columns, with the accounts of the instruction that emitted it, whose data is `caller`. Returns why the
   * event has no values, or undefined.
   */
  readTypedEvent(
    { event, caller }: { readonly event: DataRange; readonly caller: DataRange },
    row: number,
    passed: PassedAccounts,
    target: TypedTarget,
  ): string | undefined {
    const instruction = findLayout(this.#instructions, caller);
    if (instruction !== undefined) this.#placeAccounts(instruction, row, passed, target);
    const found = findLayout(this.#events, event);
    return found === undefined ? NO_LAYOUT.event : this.#readColumns(found, event, row, target);
  }

  #readColumns(
    found: CompiledLayout<IdlLayout>,
    range: DataRange,
    row: number,
    { columns, buffers }: TypedTarget,
  ): string | undefined {
    const typed = this.#typedOf(found);
    if (!typed.has(columns)) return 'the IDL of this slot describes other arguments or accounts';
    cursor.load(range.memory, range.view, range.at, range.end);
    return typed.read(cursor, buffers, row);
  }

  #typedOf(found: CompiledLayout<IdlLayout>): TypedLayout {
    found.typed ??= new TypedLayout(found.layout, this.#types);
    return found.typed;
  }

  #placeAccounts(
    found: CompiledInstruction,
    row: number,
    passed: PassedAccounts,
    { columns, accounts }: TypedTarget,
  ): void {
    if (found.accountPositions?.columns !== columns) {
      const names = found.layout.accounts.map(({ name }) => name);
      found.accountPositions = {
        columns,
        numbers: columns.accounts.map((name) => names.lastIndexOf(name)),
      };
    }
    const { numbers } = found.accountPositions;
    const indexes = found.isPlain
      ? undefined
      : chooseAccounts(found, passed.texts(), this.#address).indexes;
    for (let i = 0; i < numbers.length; i++) {
      const [column, number = -1] = [accounts[i], numbers[i]];
      if (column === undefined) continue;
      if (indexes === undefined) column[row] = number < passed.count ? number : -1;
      else column[row] = indexes[number] ?? -1;
    }
  }

  /** Returns whether the arguments of an instruction can be decoded. Otherwise its events are not known. */
  isDecodable(range: DataRange): boolean {
    const found = findLayout(this.#instructions, range);
    if (found === undefined) return false;
    cursor.load(range.memory, range.view, range.at, range.end);
    return this.#typedOf(found).read(cursor) === undefined;
  }

  /** Returns the name of an event; undefined if no layout matches. */
  eventName(range: DataRange): string | undefined {
    return findLayout(this.#events, range)?.layout.name;
  }

  /** Returns the JSON object of the call by which the program recorded an event. */
  decodeEventCall(range: DataRange, accounts: readonly string[]): string {
    const text = this.decodeEvent({ ...range, at: range.at + eventCallTag.length });
    return `${text.slice(0, -1)},"isEvent":true,"accounts":{},"remaining":[${accounts.join()}],"events":[]}`;
  }

  /** Returns the JSON object of an event. The range starts with the discriminator of the event. */
  decodeEvent(range: DataRange): string {
    const found = findLayout(this.#events, range);
    if (found === undefined) return this.#error(range, NO_LAYOUT.event);
    const args = this.#readFields(found, range);
    return args === undefined ? cursor.text : `${args}}`;
  }

  /** Returns the start of an object with the decoded fields. If they cannot be decoded, the text of the cursor is the object. */
  #readFields(
    { layout, fields, head }: CompiledLayout<IdlLayout>,
    range: DataRange,
  ): string | undefined {
    const c = cursor;
    c.load(range.memory, range.view, range.at, range.end);
    c.text = `${head},"args":{`;
    if (c.take(layout.fieldsAt) < 0) return this.#fail(range, head, '');
    for (const { name, read } of fields) {
      read(c);
      if (c.fault !== undefined) return this.#fail(range, head, ` (at ${name})`);
    }
    c.text += '}';
    if (c.at < c.end) c.text += `,"trailing":"0x${c.bytes.toString('hex', c.at, c.end)}"`;
    return c.text;
  }

  #fail(range: DataRange, head: string, where: string): undefined {
    cursor.text = `${head}${errorText(range, `${cursor.fault}${where}`)}}`;
  }

  #error(range: DataRange, reason: string): string {
    return `${this.#programText},"name":null${errorText(range, reason)}}`;
  }
}

/** Returns the columns of an instruction: those of the first form, if it has several. */
export function typedColumnsOf(
  descriptions: readonly ProgramDescription[],
  name: string,
): TypedColumns | undefined {
  for (const { types, instructions } of descriptions) {
    const layout = instructions.find((known) => known.name === name);
    if (layout === undefined) continue;
    const { args, accounts = [] } = new TypedLayout(layout, new TypeCompiler(types));
    return { args, accounts };
  }
  return undefined;
}

/** Returns the columns of an event: its arguments, and the accounts of all instructions, because any of them may have emitted it. */
export function eventColumnsOf(
  descriptions: readonly ProgramDescription[],
  name: string,
): TypedColumns | undefined {
  const names = descriptions.flatMap(({ instructions }) =>
    instructions.flatMap(({ accounts }) => accounts.map((account) => account.name)),
  );
  for (const { types, events } of descriptions) {
    const layout = events.find((known) => known.name === name);
    if (layout === undefined) continue;
    const { args } = new TypedLayout(layout, new TypeCompiler(types));
    return { args, accounts: [...new Set(names)] };
  }
  return undefined;
}

function errorText({ memory, at, end }: DataRange, reason: string): string {
  return `,"error":${JSON.stringify(reason)},"raw":"0x${memory.toString('hex', at, end)}"`;
}

/** Returns the JSON object for data of a program without an IDL. */
export function describeUnknown(range: DataRange): string {
  return `{"program":null,"name":null${errorText(range, NO_LAYOUT.program)}}`;
}

function compileAccounts({
  accounts,
}: IdlInstruction): Omit<CompiledInstruction, keyof CompiledLayout<IdlInstruction>> {
  return {
    labels: accounts.map(({ name }, i) => `${i === 0 ? '' : ','}${JSON.stringify(name)}:`),
    addresses: accounts.map(({ address }) =>
      address === undefined ? undefined : JSON.stringify(address),
    ),
    requiredCount: accounts.filter(isRequired).length,
    isPlain: accounts.every(isPlain),
  };
}

/** Returns whether an account is always passed, so that those that may be omitted are only given what is left. */
export function isRequired({ absent, address }: IdlAccount): boolean {
  return absent !== 'omitted' && address === undefined;
}

/** Returns whether an account is passed at its position and is what it looks like. */
export function isPlain({ absent, address }: IdlAccount): boolean {
  return absent === undefined && address === undefined;
}

/** Returns the text of the members `accounts` and `remaining`. An account that was not passed is null. */
function nameAccounts(
  instruction: CompiledInstruction,
  passed: readonly string[],
  program: string,
): string {
  const { labels } = instruction;
  let text = ',"accounts":{';
  let next = labels.length;
  if (instruction.isPlain)
    for (let i = 0; i < labels.length; i++) text += `${labels[i]}${passed[i] ?? 'null'}`;
  else {
    const chosen = chooseAccounts(instruction, passed, program);
    next = chosen.next;
    for (const [i, index] of chosen.indexes.entries())
      text += `${labels[i]}${index < 0 ? 'null' : passed[index]}`;
  }
  text += '},"remaining":[';
  for (let i = next; i < passed.length; i++) text += i === next ? passed[i] : `,${passed[i]}`;
  return `${text}]`;
}

/**
 * Assigns the passed accounts to the names: the position of each, or -1 if it was not passed. Accounts that may be omitted are given in order
 * while there are more than required.
 */
function chooseAccounts(
  { layout, addresses, requiredCount }: CompiledInstruction,
  passed: readonly string[],
  program: string,
): { readonly indexes: readonly number[]; readonly next: number } {
  const fixedCount = addresses.filter(
    (address) => address !== undefined && passed.includes(address),
  ).length;
  let spare = passed.length - requiredCount - fixedCount;
  let next = 0;
  const indexes = layout.accounts.map(({ absent }, i) => {
    const address = addresses[i];
    if (address !== undefined && address !== passed[next]) return -1;
    if (absent === 'omitted' && spare-- <= 0) return -1;
    const index = next++;
    const isAbsent = absent === 'program' && passed[index] === program;
    return index < passed.length && !isAbsent ? index : -1;
  });
  return { indexes, next };
}
