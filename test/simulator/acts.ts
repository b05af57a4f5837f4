/** The instructions of the programs with an IDL in one transaction, each with its events and the tokens that it moved. */
import assert from 'node:assert/strict';
import type { TokenBalance } from '../../packages/ledger/src/block.ts';
import { type Decoded, IDLS, type Idl, isEventCall, type Values } from './read-idl.ts';
import {
  type Call,
  MINT_TO,
  pathOf,
  TRANSFER,
  TRANSFER_CHECKED,
  type TransactionRecords,
} from './transaction-records.ts';

export interface Move {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
}

/** A decoded instruction of a program with an IDL, with its event and the transfers below it. */
export class Act {
  readonly name: string;
  readonly path: string;
  readonly parentPath: string;
  readonly args: Values;
  readonly accounts: ReadonlyMap<string, string>;
  /** The events that the instruction recorded, in its log lines or by calls of the program to itself. */
  readonly events: readonly Decoded[];
  /** The transfers that the instruction called itself, and tokens that it minted. */
  readonly moves: readonly Move[];
  /** Its lines in the log. */
  readonly lines: readonly string[];
  /** Whether lines are missing because the log of the transaction was too long. */
  readonly isCut: boolean;

  constructor(idl: Idl, call: Call, { calls, logs, transaction }: TransactionRecords) {
    const read = idl.readInstruction(call.data, call.row.accounts);
    assert(read !== undefined, 'the IDL describes every instruction');
    this.name = read.name;
    this.path = call.path;
    this.parentPath = call.parentPath;
    this.args = read.values;
    this.accounts = read.accounts;
    const own = logs.filter((row) => row.programId === idl.address && pathOf(row) === call.path);
    this.lines = own.filter(({ kind }) => kind === 'log').map(({ message }) => message);
    this.isCut = transaction.hasDroppedLogMessages === true;
    const made = calls.filter(({ parentPath }) => parentPath === call.path);
    const events = [
      ...own
        .filter(({ kind }) => kind === 'data')
        .map(({ message }) => idl.readEvent(Buffer.from(message, 'base64'))),
      ...made
        .filter(({ row, data }) => row.programId === idl.address && isEventCall(data))
        .map(({ data }) => idl.readEventCall(data)),
    ];
    this.events = events.map((event) => {
      assert(event !== undefined, 'the IDL describes every event');
      return event;
    });
    this.moves = made.flatMap(moveOf);
  }

  account(name: string): string {
    const account = this.accounts.get(name);
    assert(account !== undefined, `${this.name} names the account ${name}`);
    return account;
  }

  /** Returns an amount of the event, or of the instruction if it has no event. */
  amount(name: string): bigint {
    const value = (this.events[0]?.values ?? this.args)[name];
    assert(typeof value === 'bigint', `${name} of ${this.name} is an amount`);
    return value;
  }

  isTrue(name: string): boolean {
    return this.events[0]?.values[name] === true;
  }
}

/** Returns the instructions of programs with an IDL, in execution order. */
export function listActs(records: TransactionRecords): Act[] {
  return records.calls.flatMap((call) => {
    const idl = IDLS.get(call.row.programId);
    return idl === undefined || isEventCall(call.data) ? [] : [new Act(idl, call, records)];
  });
}

/** Returns by how much a transaction changed the token balance of an account, or undefined if the transaction does not list its balance. */
export function changeOf(held: readonly TokenBalance[], account: string): bigint | undefined {
  const row = held.find((one) => one.account === account);
  return row && (row.postAmount ?? 0n) - (row.preAmount ?? 0n);
}

function moveOf(call: Call): Move[] {
  const kind = call.isToken ? call.data[0] : undefined;
  if (kind !== TRANSFER && kind !== TRANSFER_CHECKED && kind !== MINT_TO) return [];
  const [from, second, third] = call.row.accounts as readonly string[];
  const to = kind === TRANSFER_CHECKED ? third : second;
  assert(from !== undefined && to !== undefined, 'a transfer names two accounts');
  return [{ from, to, amount: call.data.readBigUInt64LE(1) }];
}
