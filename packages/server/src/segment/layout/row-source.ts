/**
 * Copies rows from columns into a segment that is being built. Ranges are copied as a whole; only dictionary ids and text codes are
 * rewritten. Both are assigned in order of first mention, so copying rows in order gives the same result as building from records.
 */

import { elementAt } from '@sluice/base/element-at';
import { entriesOf } from '@sluice/protocol/typed-keys';
import { LongColumn } from '../encoding/growable.ts';
import type { BlockCounts } from './block-counts.ts';
import { COLUMN_NAMES, type ColumnName } from './columns.ts';
import type { GroupRows } from './row-buffer.ts';
import type { TextTable } from './text-table.ts';

/** Columns whose values refer to nothing outside their transaction, by the table of their rows. */
const PLAIN: Readonly<Record<keyof Ends, readonly ColumnName[]>> = {
  transaction: named('tx', ['txKeys', 'txSignatures', 'txErr']),
  signatureByte: ['txSignatures'],
  key: [],
  lookup: named('lookup', ['lookupIndexes']),
  lookupIndex: ['lookupIndexes'],
  instruction: named('ins', ['insOddSteps', 'insAccounts', 'insData', 'insError']),
  oddStep: ['insOddSteps'],
  account: ['insAccounts'],
  dataByte: ['insData'],
  log: named('log', ['logText']),
  logByte: ['logText'],
  balance: named('bal', []),
  tokenBalance: named('tok', []),
  reward: named('rew', ['rewKey', 'rewType']),
};

function named(prefix: string, except: readonly ColumnName[]): readonly ColumnName[] {
  return COLUMN_NAMES.filter((name) => name.startsWith(prefix) && !except.includes(name));
}

/** How far the rows of each table, and the values of list columns, have been copied. */
interface Ends {
  transaction: number;
  signatureByte: number;
  key: number;
  lookup: number;
  lookupIndex: number;
  instruction: number;
  oddStep: number;
  account: number;
  dataByte: number;
  log: number;
  logByte: number;
  balance: number;
  tokenBalance: number;
  reward: number;
}

const signatureBytes = 64;

/** The columns of a completely filled row group. */
export type FilledColumns = {
  readonly [Name in keyof GroupRows]: Pick<GroupRows[Name], 'values'>;
};

/** Maps the address ids of one table to those of another. */
export interface IdMap {
  idOf(id: number): number;
}

/** Rows in columns, copied in order, a few transactions at a time. */
export class RowSource {
  readonly #rows: FilledColumns;
  readonly #ids: IdMap;
  readonly #texts: readonly string[];
  #taken: Ends = {
    transaction: 0,
    signatureByte: 0,
    key: 0,
    lookup: 0,
    lookupIndex: 0,
    instruction: 0,
    oddStep: 0,
    account: 0,
    dataByte: 0,
    log: 0,
    logByte: 0,
    balance: 0,
    tokenBalance: 0,
    reward: 0,
  };

  /** `texts` has the texts of the rows' text codes. */
  constructor(rows: FilledColumns, ids: IdMap, texts: readonly string[]) {
    this.#rows = rows;
    this.#ids = ids;
    this.#texts = texts;
  }

  /** Appends the next rows, with the given number of each kind. */
  copy(counts: BlockCounts, out: GroupRows, texts: TextTable): void {
    const from = this.#taken;
    const to = this.#endsOf(counts, from);
    for (const [table, columns] of entriesOf(PLAIN)) {
      const [start, end] = [from[table], to[table]];
      if (end > start) for (const name of columns) copyRange(this.#rows, out, name, [start, end]);
    }
    this.#copyReferences(from, to, { out, texts });
    this.#taken = to;
  }

  /** Leaves out the next rows. */
  skip(counts: BlockCounts): void {
    this.#taken = this.#endsOf(counts, this.#taken);
  }

  #endsOf(counts: BlockCounts, from: Ends): Ends {
    const rows = this.#rows;
    const transaction = from.transaction + counts.transactions;
    const sum = (name: IntName): number => sumOf(rows[name].values, from.transaction, transaction);
    const lookup = from.lookup + sum('txLookupCount');
    const instruction = from.instruction + counts.instructions;
    const log = from.log + counts.logs;
    const sumIn = (name: IntName, start: number, end: number) =>
      sumOf(rows[name].values, start, end);
    return {
      transaction,
      signatureByte: from.signatureByte + sum('txSignatureCount') * signatureBytes,
      key:
        from.key +
        sum('txStaticCount') +
        sum('txWritableCount') +
        sum('txReadonlyCount') +
        sum('txOtherCount'),
      lookup,
      lookupIndex:
        from.lookupIndex +
        sumIn('lookupReadonlyCount', from.lookup, lookup) +
        sumIn('lookupWritableCount', from.lookup, lookup),
      instruction,
      oddStep: from.oddStep + sumIn('insOdd', from.instruction, instruction),
      account: from.account + sumIn('insAccountCount', from.instruction, instruction),
      dataByte: from.dataByte + sumIn('insDataLength', from.instruction, instruction),
      log,
      logByte: from.logByte + sumIn('logLength', from.log, log),
      balance: from.balance + counts.balances,
      tokenBalance: from.tokenBalance + counts.tokenBalances,
      reward: from.reward + counts.rewards,
    };
  }

  /** Copies ids and codes in the builder's order: those of a transaction, of its instructions, then of rewards. */
  #copyReferences(from: Ends, to: Ends, { out, texts }: { out: GroupRows; texts: TextTable }) {
    const rows = this.#rows;
    this.#copyIds(rows.txKeys.values.subarray(from.key, to.key), out.txKeys);
    // The getter creates a view at each call, so it is called once per block instead of once per row.
    const [errs, counts] = [rows.txErr.values, rows.txInstructionCount.values];
    const [errors, rewardTypes] = [rows.insError.values, rows.rewType.values];
    let instruction = from.instruction;
    for (let row = from.transaction; row < to.transaction; row++) {
      out.txErr.push(this.#codeOf(errs[row] as number, texts));
      const end = instruction + (counts[row] as number);
      for (; instruction < end; instruction++)
        out.insError.push(this.#codeOf(errors[instruction] as number, texts));
    }
    this.#copyIds(rows.rewKey.values.subarray(from.reward, to.reward), out.rewKey);
    for (let row = from.reward; row < to.reward; row++)
      out.rewType.push(this.#codeOf(rewardTypes[row] as number, texts));
  }

  #copyIds(values: Uint32Array, out: GroupRows['txKeys']): void {
    const ids = this.#ids;
    const copied = out.extend(values.length);
    for (let i = 0; i < copied.length; i++) copied[i] = ids.idOf(values[i] as number);
  }

  #codeOf(code: number, texts: TextTable): number {
    return code === 0 ? 0 : texts.codeOf(elementAt(this.#texts, code));
  }
}

type IntName = {
  [Name in keyof GroupRows]: GroupRows[Name] extends { push(value: number): void } ? Name : never;
}[keyof GroupRows];

export function sumOf(values: Uint32Array, start: number, end: number): number {
  let sum = 0;
  for (let row = start; row < end; row++) sum += values[row] as number;
  return sum;
}

/** Appends rows of a column, or zeros if the rows come from a format without this column. */
function copyRange(
  rows: FilledColumns,
  out: GroupRows,
  name: ColumnName,
  [start, end]: [number, number],
): void {
  // Both columns have the type that `COLUMNS` defines for the name.
  const from = rows[name] as Pick<GroupRows['txErr'], 'values'> | undefined;
  const to = out[name] as GroupRows['txErr'];
  if (from !== undefined) to.append(from.values.subarray(start, end));
  else if (to instanceof LongColumn) to.append(new BigUint64Array(end - start));
  else to.append(new Uint32Array(end - start));
}
