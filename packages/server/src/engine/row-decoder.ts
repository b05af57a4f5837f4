/**
 * Lets the kernel decode the selected instructions and logs of some row groups. The kernel stops when it meets a program for the first time,
 * and gets its decoder, or a row that it leaves to the host, and gets its text. Only queries that select `decoded` use it.
 */
import { Buffer } from 'node:buffer';
import { decoderFor } from '@sluice/decode/compile-decoder';
import type { DecodedLayout } from '@sluice/decode/decoded-layout';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import { type BalanceColumns, MintDecimals } from '@sluice/decode/mint-decimals';
import type { ProgramDescription } from '@sluice/decode/program-description';
import { RowTexts, type TableRow } from '@sluice/decode/row-texts';
import { simpleEventOf } from '@sluice/decode/simple-event';
import { simpleLayoutOf } from '@sluice/decode/simple-layout';
import { readTypedRows, type TypedRows } from '@sluice/decode/typed-rows';
import * as layout from '@sluice/kernels/layout/decoding';
import type { RowLists } from './arrow/batch-memory.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type GroupColumns, rowsOfBlocks } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';
import { loadKeyTexts } from './load-key-texts.ts';
import { readSimpleEvents } from './read-simple-events.ts';
import { readSimpleRows } from './read-simple-rows.ts';
import type { Scratch } from './scratch.ts';
import type { DecodedArray, StepOperands } from './steps.ts';

const KINDS = { instructions: layout.NEED_INSTRUCTION, logs: layout.NEED_LOG } as const;
/** The end of the blocks of a decoder that holds for the whole segment. */
const noEnd = 0xffff_ffff;
/** The initial space for the texts of rows. */
const textBytesMin = 1 << 20;

export class RowDecoder {
  readonly #idls: IdlRegistry;
  /** Memory for what is needed as long as the decoder. */
  readonly #scratch: Scratch;
  #columns: GroupColumns;
  #selected: SelectedGroup;
  readonly #table: number;
  readonly #rows: RowTexts;
  readonly #arrays = new Set<DecodedArray>();
  /** Whether a program has events, which are partly in logs. */
  #hasEvents = false;
  /** The addresses of decoders in the kernel's memory. */
  readonly #decoders = new Map<Uint8Array, number>();
  #entryCount = 0;
  #textBytes = 0;
  #text = 0;

  constructor(
    columns: GroupColumns,
    selected: SelectedGroup,
    idls: IdlRegistry,
    scratch = columns.scratch,
  ) {
    this.#columns = columns;
    this.#selected = selected;
    this.#idls = idls;
    this.#scratch = scratch;
    this.#table = scratch.reserveZeroed(layout.DECODING_BYTES);
    this.#rows = new RowTexts(columns.kernel, this.#table, idls, () => this.#loadKeys());
  }

  /** Continues with other row groups of the same segment. */
  begin(columns: GroupColumns, selected: SelectedGroup): void {
    this.#columns = columns;
    this.#selected = selected;
    this.#arrays.clear();
    const { ints } = columns.kernel;
    ints[(this.#table + layout.DECODING_NEED) / 4] = 0;
    ints[(this.#table + layout.DECODING_HOST_KIND) / 4] = 0;
  }

  /** Returns the operands of the step that writes the rows of a kind. */
  operands(array: DecodedArray): StepOperands {
    this.#arrays.add(array);
    this.#loadColumns();
    return { p0: this.#table, w0: KINDS[array] };
  }

  /** Provides what the kernel needed when it stopped in a block. Returns whether it needed something. */
  provide(block: number): boolean {
    const { ints } = this.#columns.kernel;
    const at = this.#table / 4;
    const need = ints[at + layout.DECODING_NEED / 4] ?? 0;
    if (need === 0) return false;
    ints[at + layout.DECODING_NEED / 4] = 0;
    const needed = ints[at + layout.DECODING_NEEDED / 4] ?? 0;
    const transaction = ints[at + layout.DECODING_TRANSACTION / 4] ?? 0;
    const slot = this.#columns.open.segment.headers.numberAt(block);
    if (need === layout.NEED_DECODER) this.#provideDecoder(needed, slot, block);
    else {
      const row = { slot, transaction, row: needed };
      const text = need === layout.NEED_LOG ? this.#rows.log(row) : this.#rows.instruction(row);
      this.#provideText(need, needed, Buffer.from(text));
    }
    return true;
  }

  /** Writes the texts of the selected rows, one after another. Returns the operands of a step that reads them. */
  write(array: DecodedArray): StepOperands {
    const { kernel, scratch, open } = this.#columns;
    const { p0: table, w0: kind } = this.operands(array);
    this.#loadKeys();
    const rowStarts = this.#columns.made(array === 'logs' ? 'logStarts' : 'instructionStarts').at;
    const count = kernel.ints[rowStarts / 4 + this.#columns.transactionCount] ?? 0;
    const starts = scratch.reserveZeroed((count + 1) * 4);
    let [texts, capacity, length] = [scratch.reserve(textBytesMin), textBytesMin, 0];
    const { marks, flags } = this.#selected;
    const keys = [this.#columns.made('keyStarts').at, this.#columns.stored('txKeys').at] as const;
    for (const { block, firstTransaction, transactionEnd } of rowsOfBlocks(this.#columns, noEnd)) {
      const list = [marks, flags[array], rowStarts, firstTransaction, transactionEnd] as const;
      const firstRow = kernel.ints[rowStarts / 4 + firstTransaction] ?? 0;
      kernel.ints[(table + layout.DECODING_NEXT_ROW) / 4] = firstRow;
      for (;;) {
        kernel.exports.setKeys(...keys, open.keyTable);
        const target = [starts, texts, length, capacity] as const;
        const isDone = kernel.exports.writeDecodedRows(table, kind, block, ...list, ...target);
        const next = kernel.ints[(table + layout.DECODING_NEXT_ROW) / 4] ?? 0;
        length = kernel.ints[starts / 4 + next] ?? 0;
        if (isDone !== 0) break;
        if (this.provide(block)) continue;
        const larger = scratch.reserve(capacity * 2);
        kernel.bytes.copyWithin(larger, texts, texts + length);
        [texts, capacity] = [larger, capacity * 2];
      }
    }
    return { p0: texts, w0: 1, p1: starts };
  }

  /** Reads the values of instructions, or of the events that they emitted, into columns. */
  readTyped(decoded: DecodedLayout, lists: RowLists, scratch: Scratch): TypedRows {
    this.#hasEvents ||= decoded.isEvent;
    this.operands('instructions');
    this.#loadKeys();
    const texts = this.#rows;
    const hasMints = decoded.mints.length > 0;
    const decimals = hasMints ? new MintDecimals(texts, this.#balances()) : undefined;
    const { kernel, open } = this.#columns;
    const countMax = this.#eventCountMax(decoded);
    const slots = slotsOf(lists, open);
    const at = (i: number): TableRow => ({
      slot: slots[i] ?? 0,
      transaction: kernel.ints[lists.transactions / 4 + i] ?? 0,
      row: kernel.ints[lists.rows / 4 + i] ?? 0,
    });
    const own = lists.count === 0 ? undefined : this.#ownProgram(decoded, at(0));
    const memory = { kernel, scratch, table: this.#table };
    const readSimple = (typed: TypedRows) => {
      const layout = own && simpleLayoutOf(own.description, decoded);
      return layout && readSimpleRows(memory, lists, { ...layout, program: own.program }, typed);
    };
    const readEvents = () => {
      const event = own && simpleEventOf(own.description, decoded);
      const rows = { lists, countMax };
      return event && readSimpleEvents(memory, rows, { ...event, program: own.program }, decoded);
    };
    const source = { texts, decimals, readSimple, readSimpleEvents: readEvents };
    return readTypedRows(decoded, { count: lists.count, at }, source);
  }

  /** Each event is in a log line or in a call of the program to itself. */
  #eventCountMax({ isEvent }: DecodedLayout): number {
    if (!isEvent) return 0;
    return this.#columns.stored('logKind').count + this.#columns.stored('insDepth').count;
  }

  /** Returns the program of a row with the id of its key, if it is the wanted one and has the same IDL for the whole segment. */
  #ownProgram(
    decoded: DecodedLayout,
    { slot, transaction, row }: TableRow,
  ): { readonly program: number; readonly description: ProgramDescription } | undefined {
    const program = this.#rows.programKey(transaction, row);
    const decoder = this.#rows.decoder(slot, program);
    const isOwn = this.#rows.keyText(program) === decoded.programId;
    if (!isOwn || decoder === undefined || !this.#isSameInSegment(decoded.programId))
      return undefined;
    return { program, description: decoder.description };
  }

  #isSameInSegment(programId: string): boolean {
    const { headers, blockCount } = this.#columns.open.segment;
    const slots = [headers.numberAt(0), headers.numberAt(blockCount - 1)] as const;
    return this.#idls.isSameFor(programId, ...slots);
  }

  #balances(): BalanceColumns {
    const columns = this.#columns;
    return {
      starts: columns.made('tokenBalanceStarts').at,
      preMints: columns.stored('tokPreMint').at,
      preDecimals: columns.stored('tokPreDecimals').at,
      postMints: columns.made('tokenPostMint').at,
      postDecimals: columns.made('tokenPostDecimals').at,
    };
  }

  #provideDecoder(id: number, slot: number, block: number): void {
    const { kernel } = this.#columns;
    const decoder = this.#rows.decoder(slot, id);
    if (decoder?.hasEvents === true && !this.#hasEvents) {
      this.#hasEvents = true;
      this.#loadColumns();
    }
    const code = decoderFor(decoder?.description);
    let at = this.#decoders.get(code);
    if (at === undefined) {
      at = this.#scratch.reserve(code.length);
      kernel.bytes.set(code, at);
      this.#decoders.set(code, at);
    }
    if (++this.#entryCount > layout.DECODER_ENTRY_COUNT_MAX) {
      const entries = this.#table + layout.DECODING_DECODERS;
      kernel.bytes.fill(0, entries, this.#table + layout.DECODING_BYTES);
      this.#entryCount = 1;
    }
    const isSame = this.#isSameInSegment(this.#rows.keyText(id));
    kernel.exports.setDecoder(this.#table, id, isSame ? noEnd : block + 1, at);
  }

  #provideText(kind: number, row: number, text: Buffer): void {
    const { kernel } = this.#columns;
    if (text.length > this.#textBytes) {
      this.#textBytes = text.length * 2;
      this.#text = this.#scratch.reserve(this.#textBytes);
    }
    kernel.bytes.set(text, this.#text);
    const values = [kind, row, this.#text, text.length];
    kernel.ints.set(values, (this.#table + layout.DECODING_HOST_KIND) / 4);
  }

  #loadKeys(): void {
    loadKeyTexts(this.#columns.open, this.#columns, this.#selected);
  }

  /** Writes the addresses of the columns to the table, in the order of its layout; 0 for those that are not needed. */
  #loadColumns(): void {
    const columns = this.#columns;
    const hasInstructions = this.#arrays.has('instructions');
    const hasLogs = this.#arrays.has('logs') || this.#hasEvents;
    const stored = (name: Parameters<GroupColumns['stored']>[0], isNeeded = true) =>
      isNeeded ? columns.stored(name).at : 0;
    const made = (name: Parameters<GroupColumns['made']>[0], isNeeded = true) =>
      isNeeded ? columns.made(name).at : 0;
    const addresses = [
      ...[made('keyStarts'), stored('txKeys'), columns.open.keyTable],
      stored('insProgram', hasInstructions),
      stored('insAccounts', hasInstructions),
      stored('insDepth', hasInstructions),
      made('instructionStarts', hasInstructions),
      made('accountStarts', hasInstructions),
      made('dataStarts', hasInstructions),
      stored('insData', hasInstructions),
      stored('logKind', hasLogs),
      stored('logProgram', hasLogs),
      stored('logInstruction', hasLogs),
      made('logStarts', hasLogs),
      made('messageStarts', hasLogs),
      stored('logText', hasLogs),
      made('addressTextStarts', hasInstructions && hasLogs),
      made('addressTexts', hasInstructions && hasLogs),
    ];
    columns.kernel.ints.set(addresses, (this.#table + layout.DECODING_COLUMNS) / 4);
  }
}

/** Returns the slot of each row. */
function slotsOf({ runs, count }: RowLists, { segment }: EngineSegment): Float64Array {
  const slots = new Float64Array(count);
  let next = 0;
  for (const { block, end } of runs) {
    slots.fill(segment.headers.numberAt(block), next, end);
    next = end;
  }
  return slots;
}
