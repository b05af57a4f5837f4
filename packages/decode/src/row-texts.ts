/**
 * Decodes rows of a table of the kernel (`@sluice/kernels/layout/decoding`) one at a time. The kernel decodes almost all rows itself; this is
 * for those that it leaves to the host, and it defines the text of every row.
 */
import { Buffer } from 'node:buffer';
import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { LOG_KIND_DATA } from '@sluice/kernels/layout/columns';
import * as layout from '@sluice/kernels/layout/decoding';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import type { DataRange } from './data-range.ts';
import type { IdlRegistry } from './idl-registry.ts';
import {
  describeUnknown,
  isEventCall,
  type PassedAccounts,
  type ProgramDecoder,
  rangeOf,
} from './program-decoder.ts';

/** The memory of a kernel. Its views are replaced when it grows. */
interface KernelMemory {
  readonly bytes: Uint8Array;
  readonly ints: Uint32Array;
}

/** A row with the position of its transaction. */
export interface TableRow {
  readonly slot: number;
  readonly transaction: number;
  readonly row: number;
}

/** The data of an event, and its position among the events of its instruction. */
export interface FoundEvent {
  readonly index: number;
  readonly event: DataRange;
}

export class RowTexts {
  readonly kernel: KernelMemory;
  readonly #table: number;
  readonly #idls: IdlRegistry;
  readonly #loadKeys: () => void;
  #memory: Buffer = Buffer.alloc(0);
  #view = new DataView<ArrayBufferLike>(this.#memory.buffer);
  /** The quoted texts of keys, by id. */
  readonly #keyTexts = new Map<number, string>();
  /** The decoders of the programs of a slot, by the id of the program's key. */
  readonly #decoders = new Map<number, ProgramDecoder | undefined>();
  #decodersSlot = -1;

  /** `loadKeys` loads the texts of the keys of all selected rows. */
  constructor(kernel: KernelMemory, table: number, idls: IdlRegistry, loadKeys: () => void) {
    this.kernel = kernel;
    this.#table = table;
    this.#idls = idls;
    this.#loadKeys = loadKeys;
  }

  /** Returns the text of an instruction. */
  instruction({ slot, transaction, row }: TableRow): string {
    const decoder = this.decoder(slot, this.programKey(transaction, row));
    const range = this.data(row);
    if (decoder === undefined) return describeUnknown(range);
    const accounts = this.passed(transaction, row).texts();
    if (decoder.hasEvents && isEventCall(range)) return decoder.decodeEventCall(range, accounts);
    const events = decoder.hasEvents ? this.#events(transaction, row) : [];
    const texts = events.map((event) => decoder.decodeEvent(event));
    return decoder.decodeInstruction(range, accounts, texts.join());
  }

  /** Returns the events of an instruction that have a name, each with its position among all of them. */
  eventsNamed(name: string, { slot, transaction, row }: TableRow): readonly FoundEvent[] {
    const decoder = this.decoder(slot, this.programKey(transaction, row));
    if (decoder?.hasEvents !== true) return [];
    const range = this.data(row);
    if (isEventCall(range)) return [];
    const found = this.#events(transaction, row)
      .map((event, index) => ({ index, event }))
      .filter(({ event }) => decoder.eventName(event) === name);
    return found.length === 0 || decoder.isDecodable(range) ? found : [];
  }

  /** Returns the text of a log. */
  log({ slot, transaction, row }: TableRow): string {
    if (this.#at(layout.DECODING_LOG_KIND, row) !== LOG_KIND_DATA) return 'null';
    const key = this.keyId(transaction, this.#at(layout.DECODING_LOG_PROGRAM, row));
    const decoder = this.decoder(slot, key);
    const range = this.#message(row);
    return decoder === undefined ? describeUnknown(range) : decoder.decodeEvent(range);
  }

  /** Returns the id of the key of an instruction's program. */
  programKey(transaction: number, row: number): number {
    return this.keyId(transaction, this.#at(layout.DECODING_INS_PROGRAM, row));
  }

  /** Returns a key as text, by its id. */
  keyText(id: number): string {
    return this.#keyText(id).slice(1, -1);
  }

  /** Returns the decoder of a program by the id of its key. */
  decoder(slot: number, id: number): ProgramDecoder | undefined {
    if (slot !== this.#decodersSlot) {
      this.#decoders.clear();
      this.#decodersSlot = slot;
    }
    let decoder = this.#decoders.get(id);
    if (decoder === undefined && !this.#decoders.has(id)) {
      decoder = this.#idls.find(this.keyText(id), slot);
      this.#decoders.set(id, decoder);
    }
    return decoder;
  }

  data(row: number): DataRange {
    return this.#range(layout.DECODING_DATA, layout.DECODING_DATA_STARTS, row);
  }

  /** Returns the accounts that were passed to an instruction. */
  passed(transaction: number, row: number): PassedAccounts {
    const starts = layout.DECODING_ACCOUNT_STARTS;
    const count = this.#at(starts, row + 1) - this.#at(starts, row);
    const texts = () =>
      Array.from({ length: count }, (_, i) => this.#keyText(this.accountKey(transaction, row, i)));
    return { count, texts };
  }

  /** Returns the id of the key of an account that was passed to an instruction. */
  accountKey(transaction: number, row: number, position: number): number {
    const start = this.#at(layout.DECODING_ACCOUNT_STARTS, row);
    return this.keyId(transaction, this.#at(layout.DECODING_INS_ACCOUNTS, start + position));
  }

  /** Returns the data of the events of an instruction: first those in its log lines, then those that the program recorded by calling itself. */
  #events(transaction: number, row: number): DataRange[] {
    const events: DataRange[] = [];
    const position = row - this.#at(layout.DECODING_INS_STARTS, transaction);
    const logEnd = this.#at(layout.DECODING_LOG_STARTS, transaction + 1);
    for (let log = this.#at(layout.DECODING_LOG_STARTS, transaction); log < logEnd; log++) {
      const isOwn = this.#at(layout.DECODING_LOG_INSTRUCTION, log) === position;
      if (isOwn && this.#at(layout.DECODING_LOG_KIND, log) === LOG_KIND_DATA)
        events.push(this.#message(log));
    }
    const depthOf = (call: number) => this.#at(layout.DECODING_INS_DEPTH, call);
    const end = this.#at(layout.DECODING_INS_STARTS, transaction + 1);
    const program = this.#at(layout.DECODING_INS_PROGRAM, row);
    for (let call = row + 1; call < end && depthOf(call) > depthOf(row); call++) {
      const isOwn = this.#at(layout.DECODING_INS_PROGRAM, call) === program;
      if (!isOwn || depthOf(call) !== depthOf(row) + 1) continue;
      const range = this.data(call);
      if (!isEventCall(range) || !this.#isCalledBy(call, row)) continue;
      events.push({ ...range, at: range.at + 8 });
    }
    return events;
  }

  /** Compares the addresses: a caller may be missing in the data of a node, so depths alone are not enough. */
  #isCalledBy(call: number, caller: number): boolean {
    return this.#addressText(call).startsWith(`${this.#addressText(caller).slice(0, -1)},`);
  }

  #addressText(row: number): string {
    return textOf(this.#range(layout.DECODING_ADDRESSES, layout.DECODING_ADDRESS_STARTS, row));
  }

  #message(row: number): DataRange {
    const range = this.#range(layout.DECODING_MESSAGES, layout.DECODING_MESSAGE_STARTS, row);
    return rangeOf(decodeLogData(textOf(range)));
  }

  /** Returns the id of a key by its position in the list of a transaction. */
  keyId(transaction: number, position: number): number {
    const first = this.#at(layout.DECODING_KEY_STARTS, transaction);
    return this.#at(layout.DECODING_KEYS, first + position);
  }

  /** Returns the quoted text of a key. */
  #keyText(id: number): string {
    const known = this.#keyTexts.get(id);
    if (known !== undefined) return known;
    if (this.#at(layout.DECODING_KEY_TABLE, id) === 0) this.#loadKeys();
    this.#useMemory();
    const at = this.#at(layout.DECODING_KEY_TABLE, id);
    const length = elementAt(this.#memory, at + KEY_TEXT_BYTES - 1);
    // A key that was never written is not encoded yet.
    const text =
      length === 0
        ? `"${encodeBase58(this.#memory.subarray(at, at + 32))}"`
        : this.#memory.toString('latin1', at, at + length);
    this.#keyTexts.set(id, text);
    return text;
  }

  /** Returns the value of a row in a column of the table. */
  #at(column: number, row: number): number {
    const { ints } = this.kernel;
    return ints[elementAt(ints, (this.#table + column) / 4) / 4 + row] ?? 0;
  }

  #range(bytes: number, starts: number, row: number): DataRange {
    this.#useMemory();
    const base = elementAt(this.kernel.ints, (this.#table + bytes) / 4);
    const [at, end] = [base + this.#at(starts, row), base + this.#at(starts, row + 1)];
    return { memory: this.#memory, view: this.#view, at, end };
  }

  #useMemory(): void {
    const { buffer } = this.kernel.bytes;
    if (this.#memory.buffer === buffer) return;
    this.#memory = Buffer.from(buffer);
    this.#view = new DataView(buffer);
  }
}

function textOf({ memory, at, end }: DataRange): string {
  return memory.toString('utf8', at, end);
}

/** Returns the bytes of a log line of the kind `data`: base64 texts, separated by spaces. The line is escaped as in JSON. */
function decodeLogData(message: string): Buffer {
  const text = message.includes('\\') ? String(JSON.parse(`"${message}"`)) : message;
  if (!text.includes(' ')) return Buffer.from(text, 'base64');
  return Buffer.concat(text.split(' ').map((part) => Buffer.from(part, 'base64')));
}
