/**
 * Writes the decoded texts of the selected instructions and logs of some row groups into the kernel's memory, from where the kernel copies
 * them into the lines. Only queries that select `decoded` use it.
 */
import { Buffer } from 'node:buffer';
import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import {
  type DataRange,
  describeUnknown,
  isEventCall,
  type ProgramDecoder,
  rangeOf,
} from '@sluice/decode/program-decoder';
import { LOG_KIND_DATA } from '@sluice/kernels/layout/columns';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import type { RowLists } from './arrow/block-values.ts';
import type { TypedRows } from './arrow/typed-columns.ts';
import type { GroupColumns } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';
import { loadKeyTexts } from './load-key-texts.ts';

/** The addresses of the texts of rows, one after another, and of the start of each. */
export interface RowTexts {
  readonly texts: number;
  readonly starts: number;
}

/** The kinds of records that have the field `decoded`. */
export type DecodedArray = 'instructions' | 'logs';

type TextOf = (slot: number, transaction: number, row: number) => string;

/** Texts are collected here before they are copied. It grows as needed and is given up above this size. */
const keptBytesMax = 1 << 24;
const collectedBytesMin = 1 << 20;
let collected: Buffer = Buffer.allocUnsafe(collectedBytesMin);

/** A column of 32-bit integers in the kernel's memory. */
class Ints {
  readonly #memory: Uint32Array;
  readonly #first: number;

  constructor(memory: Uint32Array, address: number) {
    this.#memory = memory;
    this.#first = address / 4;
  }

  at(row: number): number {
    return this.#memory[this.#first + row] ?? 0;
  }
}

/** The columns that rows are decoded from. Loading a column may replace the memory, so all of them are loaded first. */
function loadColumns(columns: GroupColumns, hasInstructions: boolean, hasLogs: boolean) {
  const stored = (name: Parameters<GroupColumns['stored']>[0], isNeeded = true) =>
    isNeeded ? columns.stored(name).at : 0;
  const made = (name: Parameters<GroupColumns['made']>[0], isNeeded = true) =>
    isNeeded ? columns.made(name).at : 0;
  const addresses = {
    txKeys: stored('txKeys'),
    keyStarts: made('keyStarts'),
    insProgram: stored('insProgram', hasInstructions),
    insAccounts: stored('insAccounts', hasInstructions),
    insDepth: stored('insDepth', hasInstructions),
    insStarts: made('instructionStarts', hasInstructions),
    accountStarts: made('accountStarts', hasInstructions),
    dataStarts: made('dataStarts', hasInstructions),
    logKind: stored('logKind', hasLogs),
    logProgram: stored('logProgram', hasLogs),
    logInstruction: stored('logInstruction', hasLogs),
    logStarts: made('logStarts', hasLogs),
    messageStarts: made('messageStarts', hasLogs),
    addressStarts: made('addressTextStarts', hasInstructions && hasLogs),
  };
  const bytes = {
    data: stored('insData', hasInstructions),
    messages: stored('logText', hasLogs),
    addresses: made('addressTexts', hasInstructions && hasLogs),
  };
  const { kernel, open } = columns;
  const ints = (address: number) => new Ints(kernel.ints, address);
  return {
    txKeys: ints(addresses.txKeys),
    keyStarts: ints(addresses.keyStarts),
    keyTable: ints(open.keyTable),
    insProgram: ints(addresses.insProgram),
    insAccounts: ints(addresses.insAccounts),
    insDepth: ints(addresses.insDepth),
    insStarts: ints(addresses.insStarts),
    accountStarts: ints(addresses.accountStarts),
    dataStarts: ints(addresses.dataStarts),
    logKind: ints(addresses.logKind),
    logProgram: ints(addresses.logProgram),
    logInstruction: ints(addresses.logInstruction),
    logStarts: ints(addresses.logStarts),
    messageStarts: ints(addresses.messageStarts),
    addressStarts: ints(addresses.addressStarts),
    ...bytes,
    memory: Buffer.from(kernel.bytes.buffer),
    view: new DataView(kernel.bytes.buffer),
  };
}

export class RowDecoder {
  readonly #columns: GroupColumns;
  readonly #selected: SelectedGroup;
  readonly #idls: IdlRegistry;
  /** The quoted texts of keys, by id. */
  readonly #keyTexts = new Map<number, string>();
  /** The decoders of the programs of a slot, by the id of the program's key. */
  readonly #decoders = new Map<number, ProgramDecoder | undefined>();
  #decodersSlot = -1;
  #loaded: ReturnType<typeof loadColumns>;

  constructor(columns: GroupColumns, selected: SelectedGroup, idls: IdlRegistry) {
    this.#columns = columns;
    this.#selected = selected;
    this.#idls = idls;
    loadKeyTexts(columns.open, columns, selected);
    this.#loaded = loadColumns(columns, false, false);
  }

  /** Decodes the selected rows. */
  write(array: DecodedArray): RowTexts {
    if (array === 'logs') {
      this.#loaded = loadColumns(this.#columns, false, true);
      return this.#write(array, (slot, transaction, row) => this.#log(slot, transaction, row));
    }
    this.#loaded = loadColumns(this.#columns, true, false);
    if (this.#haveEvents()) this.#loaded = loadColumns(this.#columns, true, true);
    return this.#write(array, (slot, transaction, row) =>
      this.#instruction(slot, transaction, row),
    );
  }

  /** Reads the arguments and accounts of instructions into columns. */
  readTyped(typed: TypedRows, { rows, transactions, runs }: RowLists): void {
    this.#loaded = loadColumns(this.#columns, true, false);
    const { kernel, open } = this.#columns;
    const [rowAt, transactionAt] = [
      new Ints(kernel.ints, rows),
      new Ints(kernel.ints, transactions),
    ];
    let i = 0;
    for (const { block, end } of runs) {
      const slot = open.segment.headers.numberAt(block);
      for (; i < end; i++)
        typed.errors.texts[i] = this.#readRow(typed, i, {
          slot,
          transaction: transactionAt.at(i),
          row: rowAt.at(i),
        });
    }
  }

  /** Returns why a row has no values, or null. */
  #readRow(
    { decoded, buffers, accounts }: TypedRows,
    i: number,
    { slot, transaction, row }: { slot: number; transaction: number; row: number },
  ): string | null {
    const { insProgram, accountStarts } = this.#loaded;
    const id = this.#keyId(transaction, insProgram.at(row));
    if (this.#keyText(id).slice(1, -1) !== decoded.programId) return 'this is another program';
    const decoder = this.#decoder(slot, transaction, insProgram.at(row));
    if (decoder === undefined) return 'no IDL is registered for this program and slot';
    const count = accountStarts.at(row + 1) - accountStarts.at(row);
    const passed = () => this.#accounts(transaction, row);
    const { name, columns } = decoded;
    const target = { name, columns, buffers, accounts, passed };
    return decoder.readTyped(this.#data(row), i, count, target) ?? null;
  }

  /** Returns the quoted texts of the accounts of an instruction. */
  #accounts(transaction: number, row: number): string[] {
    const { accountStarts, insAccounts } = this.#loaded;
    const accounts: string[] = [];
    const end = accountStarts.at(row + 1);
    for (let i = accountStarts.at(row); i < end; i++)
      accounts.push(this.#keyText(this.#keyId(transaction, insAccounts.at(i))));
    return accounts;
  }

  /** Returns whether a selected instruction belongs to a program with events, which are partly in logs. */
  #haveEvents(): boolean {
    let isFound = false;
    const { insProgram } = this.#loaded;
    this.#forEachRow('instructions', (slot, transaction, row) => {
      isFound ||= this.#decoder(slot, transaction, insProgram.at(row))?.hasEvents === true;
    });
    return isFound;
  }

  #log(slot: number, transaction: number, row: number): string {
    const { logKind, logProgram } = this.#loaded;
    if (logKind.at(row) !== LOG_KIND_DATA) return 'null';
    const decoder = this.#decoder(slot, transaction, logProgram.at(row));
    const range = this.#message(row);
    return decoder === undefined ? describeUnknown(range) : decoder.decodeEvent(range);
  }

  #instruction(slot: number, transaction: number, row: number): string {
    const decoder = this.#decoder(slot, transaction, this.#loaded.insProgram.at(row));
    const range = this.#data(row);
    if (decoder === undefined) return describeUnknown(range);
    const accounts = this.#accounts(transaction, row);
    if (!decoder.hasEvents) return decoder.decodeInstruction(range, accounts, '');
    if (isEventCall(range)) return decoder.decodeEventCall(range, accounts);
    return decoder.decodeInstruction(range, accounts, this.#events(decoder, transaction, row));
  }

  /** Decodes the events in the log lines of an instruction, then those that the program recorded by calling itself. */
  #events(decoder: ProgramDecoder, transaction: number, row: number): string {
    const { insStarts, insDepth, insProgram, logStarts, logInstruction, logKind } = this.#loaded;
    let text = '';
    const position = row - insStarts.at(transaction);
    const logEnd = logStarts.at(transaction + 1);
    for (let log = logStarts.at(transaction); log < logEnd; log++) {
      if (logInstruction.at(log) !== position || logKind.at(log) !== LOG_KIND_DATA) continue;
      text += `${text === '' ? '' : ','}${decoder.decodeEvent(this.#message(log))}`;
    }
    const depth = insDepth.at(row);
    const end = insStarts.at(transaction + 1);
    for (let call = row + 1; call < end && insDepth.at(call) > depth; call++) {
      if (insDepth.at(call) !== depth + 1 || insProgram.at(call) !== insProgram.at(row)) continue;
      const range = this.#data(call);
      if (!isEventCall(range) || !this.#isCalledBy(call, row)) continue;
      text += `${text === '' ? '' : ','}${decoder.decodeEvent({ ...range, at: range.at + 8 })}`;
    }
    return text;
  }

  /** Compares the addresses: a caller may be missing in the data of a node, so depths alone are not enough. */
  #isCalledBy(call: number, caller: number): boolean {
    return this.#addressText(call).startsWith(`${this.#addressText(caller).slice(0, -1)},`);
  }

  #addressText(row: number): string {
    const { memory, addresses, addressStarts } = this.#loaded;
    const [start, end] = [addressStarts.at(row), addressStarts.at(row + 1)];
    return memory.toString('latin1', addresses + start, addresses + end);
  }

  #data(row: number): DataRange {
    const { memory, view, data, dataStarts } = this.#loaded;
    return { memory, view, at: data + dataStarts.at(row), end: data + dataStarts.at(row + 1) };
  }

  #message(row: number): DataRange {
    const { memory, messages, messageStarts } = this.#loaded;
    const [start, end] = [messageStarts.at(row), messageStarts.at(row + 1)];
    return rangeOf(decodeLogData(memory.toString('utf8', messages + start, messages + end)));
  }

  #keyId(transaction: number, position: number): number {
    const { txKeys, keyStarts } = this.#loaded;
    return txKeys.at(keyStarts.at(transaction) + position);
  }

  #decoder(slot: number, transaction: number, position: number): ProgramDecoder | undefined {
    if (slot !== this.#decodersSlot) {
      this.#decoders.clear();
      this.#decodersSlot = slot;
    }
    const id = this.#keyId(transaction, position);
    let decoder = this.#decoders.get(id);
    if (decoder === undefined && !this.#decoders.has(id)) {
      decoder = this.#idls.find(this.#keyText(id).slice(1, -1), slot);
      this.#decoders.set(id, decoder);
    }
    return decoder;
  }

  /** Returns the quoted text of a key. */
  #keyText(id: number): string {
    const known = this.#keyTexts.get(id);
    if (known !== undefined) return known;
    const { memory, keyTable } = this.#loaded;
    const at = keyTable.at(id);
    const length = elementAt(memory, at + KEY_TEXT_BYTES - 1);
    // A key that was never written is not encoded yet.
    const text =
      length === 0
        ? `"${encodeBase58(memory.subarray(at, at + 32))}"`
        : memory.toString('latin1', at, at + length);
    this.#keyTexts.set(id, text);
    return text;
  }

  #startsOf(array: DecodedArray): Ints {
    return array === 'logs' ? this.#loaded.logStarts : this.#loaded.insStarts;
  }

  #write(array: DecodedArray, textOf: TextOf): RowTexts {
    const { kernel, scratch, transactionCount } = this.#columns;
    const count = this.#startsOf(array).at(transactionCount);
    const ends = new Uint32Array(count + 1);
    let length = 0;
    this.#forEachRow(array, (slot, transaction, row) => {
      const text = textOf(slot, transaction, row);
      if (length + text.length * 3 > collected.length)
        collected = grow(collected, length, text.length * 3);
      length += collected.write(text, length);
      ends[row + 1] = length;
    });
    // A row without a text ends where the row before it ends.
    for (let row = 1; row <= count; row++)
      if (ends[row] === 0) ends[row] = elementAt(ends, row - 1);
    const target = { texts: scratch.reserve(length), starts: scratch.reserve((count + 1) * 4) };
    kernel.bytes.set(collected.subarray(0, length), target.texts);
    kernel.ints.set(ends, target.starts / 4);
    if (collected.length > keptBytesMax) collected = Buffer.allocUnsafe(collectedBytesMin);
    return target;
  }

  /** Calls a function for each selected row, with the slot and the position of its transaction. */
  #forEachRow(
    array: DecodedArray,
    visit: (slot: number, transaction: number, row: number) => void,
  ): void {
    const { open, pages } = this.#columns;
    const { memory } = this.#loaded;
    const { marks } = this.#selected;
    const flags = this.#selected.flags[array];
    const starts = this.#startsOf(array);
    for (const set of pages)
      set.forEachPage((first, end, position) => {
        let block = open.blockOf(first);
        for (let number = first; number < end; number++) {
          while (elementAt(open.transactionStarts, block + 1) <= number) block++;
          const transaction = position + number - first;
          if (memory[marks + transaction] === 0) continue;
          const slot = open.segment.headers.numberAt(block);
          const rowEnd = starts.at(transaction + 1);
          for (let row = starts.at(transaction); row < rowEnd; row++)
            if (memory[flags + row] !== 0) visit(slot, transaction, row);
        }
      });
  }
}

function grow(buffer: Buffer, length: number, added: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + added));
  buffer.copy(larger, 0, 0, length);
  return larger;
}

/** Returns the bytes of a log line of the kind `data`: base64 texts, separated by spaces. The line is escaped as in JSON. */
function decodeLogData(message: string): Buffer {
  const text = message.includes('\\') ? String(JSON.parse(`"${message}"`)) : message;
  if (!text.includes(' ')) return Buffer.from(text, 'base64');
  return Buffer.concat(text.split(' ').map((part) => Buffer.from(part, 'base64')));
}
