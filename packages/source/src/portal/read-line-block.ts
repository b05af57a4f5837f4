/**
 * Reads a block from a line of another Sluice, which contains all records. The rules are as strict as for a block of a node: the
 * block is rejected if a value is invalid, if records are not in order or refer to missing ones, or if the number of records of a
 * kind differs from the number that the portal reports.
 */

import { CodedError } from '@sluice/base/errors';
import type {
  Balance,
  Block,
  BlockHeader,
  Instruction,
  Log,
  TokenBalance,
  Transaction,
} from '@sluice/ledger/block';
import { type Address, compareInstructionAddresses, type Slot } from '@sluice/ledger/primitives';
import { LOG_KINDS } from '@sluice/protocol/field-table';
import { type JsonParts, parseExactJson } from '../json/parse-exact-json.ts';
import { BlockReader, type Raw } from '../normalize/block-reader.ts';
import { encodeError } from '../normalize/encode-error.ts';
import { type NormalizedBlock, refusalCodes } from '../normalize/normalize-block.ts';
import { newCounts } from '../normalize/normalize-counts.ts';
import { normalizeDefaults } from '../normalize/normalize-options.ts';
import { readData, readLookups } from '../normalize/read-message.ts';
import { readRewards } from '../normalize/read-rewards.ts';

/** The line of a block is somewhat longer than the block of a node. */
export const lineBytesMax = 2 * normalizeDefaults.bytesMax;
/** A line cannot contain more records than this. */
const indexMax = 10_000_000;
const depthMax = 64;
const recordKinds = [
  'transactions',
  'instructions',
  'logs',
  'balances',
  'tokenBalances',
  'rewards',
] as const satisfies readonly (keyof Block)[];
const versionMax = 127;

export function readLineBlock(slot: Slot, bytes: Uint8Array): NormalizedBlock {
  if (bytes.length > lineBytesMax) {
    throw new CodedError('block-too-large', { slot, bytes: bytes.length, bytesMax: lineBytesMax });
  }
  const json = parseExactJson(bytes, normalizeDefaults.depthMax);
  if (json.kind === 'refused') throw new CodedError(refusalCodes[json.reason], { slot });
  const reader = new LineReader(slot, json.mark);
  const line = reader.object<'header' | (typeof recordKinds)[number]>(json.value, 'line');
  const block: Block = {
    header: reader.header(line.header),
    transactions: reader.transactions(line.transactions, json.parts),
    instructions: reader.list(line.instructions, 'instructions', (record) =>
      reader.instruction(record),
    ),
    logs: reader.list(line.logs, 'logs', (record) => reader.log(record)),
    balances: reader.list(line.balances, 'balances', (record) => reader.balance(record)),
    tokenBalances: reader.list(line.tokenBalances, 'tokenBalances', (record) =>
      reader.tokenBalance(record),
    ),
    rewards: readRewards(reader, line.rewards) ?? [],
  };
  reader.checkCounts(line.header, block);
  reader.checkOrder(block);
  return { block, counts: newCounts() };
}

type RawRecord = Readonly<Record<string, unknown>>;

class LineReader extends BlockReader {
  header(value: unknown): BlockHeader {
    const raw = this.record(value, 'header');
    const number = this.slotOf(raw['number'], 'header.number');
    if (number !== this.slot) this.refuse('header.number', number, `${this.slot}`);
    const parentSlot = this.slotOf(raw['parentSlot'], 'header.parentSlot');
    if (number === 0 ? parentSlot !== 0 : parentSlot >= number) {
      throw new CodedError('block-parent-not-below', { slot: this.slot, parentSlot });
    }
    return {
      number: this.slot,
      hash: this.hash(raw['hash'], 'header.hash'),
      parentSlot,
      parentHash: this.orNull(raw['parentHash'], 'header.parentHash', (hash, field) =>
        number === 0 ? null : this.hash(hash, field),
      ),
      height: this.orNull(raw['height'], 'header.height', (height, field) =>
        this.count(height, Number.MAX_SAFE_INTEGER, field),
      ),
      timestamp: this.orNull(raw['timestamp'], 'header.timestamp', (time, field) =>
        this.i64(time, field),
      ),
    };
  }

  /** Compares the number of records with the portal's, so that a block with lost records is not stored. */
  checkCounts(header: unknown, block: Block): void {
    const { recordCounts } = this.object<'recordCounts'>(header, 'header');
    const counts = this.record(recordCounts, 'header.recordCounts');
    for (const kind of recordKinds) {
      const expected = this.count(counts[kind], indexMax, `header.recordCounts.${kind}`);
      const found = block[kind].length;
      if (expected === found) continue;
      throw new CodedError('block-counts-differ', { slot: this.slot, kind, found, expected });
    }
  }

  checkOrder({ transactions, instructions, logs, balances, tokenBalances }: Block): void {
    const known = new Set(transactions.map(({ transactionIndex }) => transactionIndex));
    const check = <Item extends { readonly transactionIndex: number }>(
      items: readonly Item[],
      field: string,
      compare: (a: Item, b: Item) => number,
    ) => {
      for (const [i, item] of items.entries()) {
        this.transaction = item.transactionIndex;
        if (!known.has(item.transactionIndex)) {
          this.refuse(field, item.transactionIndex, 'the index of a transaction of the block', i);
        }
        const before = items[i - 1];
        if (before === undefined) continue;
        const difference = before.transactionIndex - item.transactionIndex || compare(before, item);
        if (difference >= 0)
          this.refuse(field, 'a record', 'a record that sorts after the one before it', i);
      }
      this.transaction = -1;
    };
    check(transactions, 'transactions', () => 0);
    check(instructions, 'instructions', (a, b) =>
      compareInstructionAddresses(a.instructionAddress, b.instructionAddress),
    );
    check(logs, 'logs', (a, b) => a.logIndex - b.logIndex);
    const byAccount = (a: { account: string }, b: { account: string }) =>
      a.account < b.account ? -1 : Number(a.account > b.account);
    check(balances, 'balances', byAccount);
    check(tokenBalances, 'tokenBalances', byAccount);
    this.#checkTree(instructions, logs);
  }

  /** Checks that every inner instruction has its caller, and every log its instruction. */
  #checkTree(instructions: readonly Instruction[], logs: readonly Log[]): void {
    const keyOf = (index: number, path: readonly number[]) => `${index}:${path.join()}`;
    const keys = new Set(
      instructions.map((instruction) =>
        keyOf(instruction.transactionIndex, instruction.instructionAddress),
      ),
    );
    const check = (index: number, path: readonly number[], field: string) => {
      if (path.length === 0 || keys.has(keyOf(index, path))) return;
      this.transaction = index;
      this.refuse(field, path, 'the address of an instruction of the block');
    };
    for (const { transactionIndex, instructionAddress } of instructions) {
      check(transactionIndex, instructionAddress.slice(0, -1), 'instructions.instructionAddress');
    }
    for (const { transactionIndex, instructionAddress } of logs) {
      check(transactionIndex, instructionAddress, 'logs.instructionAddress');
    }
  }

  record(value: unknown, field: string): RawRecord {
    return this.object(value, field) as RawRecord;
  }

  /** An array without records is absent. */
  list<Item>(value: unknown, field: string, read: (record: RawRecord) => Item): Item[] {
    const items: Item[] = [];
    for (const element of this.optionalArray(value, field))
      items.push(read(this.record(element, field)));
    return items;
  }

  transactions(value: unknown, parts: JsonParts | null): Transaction[] {
    const elements = this.optionalArray(value, 'transactions');
    const read = parts === null ? elements : elements.flatMap((element) => parts.readAll(element));
    return this.list(read, 'transactions', (record) => this.#transaction(record));
  }

  #transaction(raw: RawRecord): Transaction {
    const transactionIndex = this.#index(raw);
    this.transaction = transactionIndex;
    const loaded: Raw<'readonly' | 'writable'> = this.object(
      raw['loadedAddresses'],
      'loadedAddresses',
    );
    const small = (name: string) => this.count(raw[name], 255, name);
    const transaction = {
      transactionIndex,
      version: raw['version'] === -1 ? -1 : this.count(raw['version'], versionMax, 'version'),
      accountKeys: this.addresses(raw['accountKeys'], 'accountKeys'),
      addressTableLookups: readLookups(this, raw['addressTableLookups']),
      numReadonlySignedAccounts: small('numReadonlySignedAccounts'),
      numReadonlyUnsignedAccounts: small('numReadonlyUnsignedAccounts'),
      numRequiredSignatures: small('numRequiredSignatures'),
      recentBlockhash: this.address(raw['recentBlockhash'], 'recentBlockhash'),
      signatures: this.signatures(raw['signatures'], 'signatures'),
      err: this.orNull(raw['err'], 'err', (err, field) => this.#error(err, field)),
      fee: this.orNull(raw['fee'], 'fee', (fee, field) => this.u64(fee, field)),
      computeUnitsConsumed: this.#units(raw),
      loadedAddresses: {
        readonly: this.addresses(loaded.readonly, 'loadedAddresses.readonly'),
        writable: this.addresses(loaded.writable, 'loadedAddresses.writable'),
      },
      hasDroppedLogMessages: this.#flag(raw, 'hasDroppedLogMessages'),
    };
    this.transaction = -1;
    return transaction;
  }

  instruction(raw: RawRecord): Instruction {
    return {
      transactionIndex: this.#index(raw),
      instructionAddress: this.#path(raw),
      programId: this.address(raw['programId'], 'programId'),
      accounts: this.addresses(raw['accounts'], 'accounts'),
      data: readData(this, raw['data']),
      error: this.orNull(raw['error'], 'error', (error, field) => this.text(error, field)),
      computeUnitsConsumed: this.#units(raw),
      isCommitted: this.orNull(raw['isCommitted'], 'isCommitted', () =>
        this.#flag(raw, 'isCommitted'),
      ),
      hasDroppedLogMessages: this.#flag(raw, 'hasDroppedLogMessages'),
    };
  }

  log(raw: RawRecord): Log {
    const kind =
      LOG_KINDS.find((known) => known === raw['kind']) ??
      this.refuse('logs.kind', raw['kind'], LOG_KINDS.join(', '));
    return {
      transactionIndex: this.#index(raw),
      logIndex: this.count(raw['logIndex'], indexMax, 'logIndex'),
      instructionAddress: this.#path(raw),
      programId: this.address(raw['programId'], 'programId'),
      kind,
      message: this.text(raw['message'], 'message'),
    };
  }

  balance(raw: RawRecord): Balance {
    return {
      transactionIndex: this.#index(raw),
      account: this.address(raw['account'], 'account'),
      pre: this.u64(raw['pre'], 'pre'),
      post: this.u64(raw['post'], 'post'),
    };
  }

  tokenBalance(raw: RawRecord): TokenBalance {
    const address = (name: string): Address | null =>
      this.orNull(raw[name], name, (value, field) => this.address(value, field));
    const decimals = (name: string) =>
      this.orNull(raw[name], name, (value, field) => this.count(value, 255, field));
    const amount = (name: string) =>
      this.orNull(raw[name], name, (value, field) => this.u64(value, field));
    return {
      transactionIndex: this.#index(raw),
      account: this.address(raw['account'], 'account'),
      preMint: address('preMint'),
      postMint: address('postMint'),
      preDecimals: decimals('preDecimals'),
      postDecimals: decimals('postDecimals'),
      preProgramId: address('preProgramId'),
      postProgramId: address('postProgramId'),
      preOwner: address('preOwner'),
      postOwner: address('postOwner'),
      preAmount: amount('preAmount'),
      postAmount: amount('postAmount'),
    };
  }

  /** An unknown value is null. An absent value was lost. */
  orNull<Value>(
    value: unknown,
    field: string,
    read: (value: unknown, field: string) => Value,
  ): Value | null {
    if (value === undefined) this.missing(field, 'a value or null');
    return value === null ? null : read(value, field);
  }

  #index(raw: RawRecord): number {
    return this.count(raw['transactionIndex'], indexMax, 'transactionIndex');
  }

  #path(raw: RawRecord): readonly number[] {
    const field = 'instructionAddress';
    const path = this.array(raw[field], field);
    if (path.length === 0 || path.length > depthMax) {
      this.refuse(field, path, `1 to ${depthMax} numbers`);
    }
    return path.map((step) => this.count(step, indexMax, field));
  }

  #units(raw: RawRecord): bigint | null {
    const field = 'computeUnitsConsumed';
    return this.orNull(raw[field], field, (value) => this.u64(value, field));
  }

  #flag(raw: RawRecord, field: string): boolean {
    const value = raw[field];
    return typeof value === 'boolean' ? value : this.refuse(field, value, 'true or false');
  }

  #error(err: unknown, field: string): string {
    const text = typeof err === 'object' ? encodeError(err, this.mark) : undefined;
    return text ?? this.refuse(field, err, 'an object or null');
  }
}
