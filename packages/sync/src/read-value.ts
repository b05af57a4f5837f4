/** Resolves the expressions of columns to functions that read a value of a row, with the fields and relations that they need. */

import type { DecodedValue, ProgramField, ProgramInterface } from '@sluice/client';
import { FIELDS, fieldRows, type Kind, RECORD_ARRAYS } from '@sluice/protocol/field-table';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { type ColumnType, typeOfArgument, typeOfWire } from './column-types.ts';
import type { Expression } from './parse-expression.ts';
import type { TableSource } from './table-spec.ts';

type Values = Readonly<Record<string, unknown>>;

/** The parts of a decoded instruction or event that values are read from. */
export interface DecodedForm
  extends Partial<Pick<DecodedValue, 'program' | 'name' | 'error' | 'events'>> {
  readonly args?: Values;
  readonly accounts?: Values;
}

/** The records from which the values of a row are read. One object is used for all rows. */
export interface RowContext {
  header: Values;
  record: Values;
  transaction: Values | undefined;
  /** The decoded form of the instruction. */
  decoded: DecodedForm | undefined;
  /** The decoded form of the event, of a table of events. */
  event: DecodedForm | undefined;
  /** Returns the decimals of a mint in the transaction of the record. */
  decimalsOf: (mint: unknown) => unknown;
}

export interface ValueReader {
  readonly type: ColumnType;
  readonly read: (context: RowContext) => unknown;
}

/** The names by which the values of a table can be used, and what the query has to select for those that are used. */
export class ValueScope {
  readonly #source: TableSource;
  readonly #kind: Kind;
  readonly #layouts: readonly DecodedLayout[];
  /** Selected fields as `kind.field`. */
  readonly fields = new Set<string>();
  usesTransaction = false;
  usesDecimals = false;

  constructor(source: TableSource, layouts: readonly DecodedLayout[]) {
    this.#source = source;
    this.#kind = kindOfSource(source);
    this.#layouts = layouts;
  }

  /** Returns undefined if the expression has an unknown name. */
  resolve(expression: Expression): ValueReader | undefined {
    switch (expression.kind) {
      case 'integer':
        return { type: { form: 'number', sql: 'bigint' }, read: () => expression.value };
      case 'path':
        return this.#resolvePath(expression.path);
      case 'decimals': {
        const mint = this.resolve(expression.mint);
        if (mint === undefined || !this.#hasTokenBalances) return undefined;
        this.usesDecimals = true;
        this.fields.add('tokenBalance.transactionIndex');
        for (const name of ['preMint', 'postMint', 'preDecimals', 'postDecimals'])
          this.fields.add(`tokenBalance.${name}`);
        return {
          type: { form: 'number', sql: 'smallint' },
          read: (context) => context.decimalsOf(mint.read(context)),
        };
      }
      default:
        return this.#resolveShift(expression.value, expression.digits);
    }
  }

  #resolveShift(value: Expression, digits: Expression): ValueReader | undefined {
    const amount = this.resolve(value);
    const shift = this.resolve(digits);
    if (amount?.type.form !== 'number' || shift?.type.form !== 'number') return undefined;
    return {
      type: { form: 'number', sql: 'numeric' },
      read: (context) => shiftDecimals(amount.read(context), shift.read(context)),
    };
  }

  /** The records whose transaction has token balances beside the rows of the table. */
  get #hasTokenBalances(): boolean {
    return ['transactions', 'instructions', 'events'].includes(this.#source);
  }

  #resolvePath(path: string): ValueReader | undefined {
    if (path === 'slot') return this.#field('block', 'number');
    const [head = '', ...rest] = path.split('.');
    const tail = rest.join('.');
    if (head === 'block') return this.#field('block', tail === 'time' ? 'timestamp' : tail);
    if (head === 'transaction' && this.#hasTransaction) return this.#transactionField(tail);
    return this.#decoded(head, rest) ?? (tail === '' ? this.#field(this.#kind, path) : undefined);
  }

  get #hasTransaction(): boolean {
    return this.#source !== 'blocks' && this.#source !== 'rewards';
  }

  #transactionField(name: string): ValueReader | undefined {
    const isSignature = name === 'signature';
    const field = this.#field('transaction', isSignature ? 'signatures' : name);
    if (field === undefined) return undefined;
    this.usesTransaction = true;
    if (!isSignature) return field;
    return {
      type: typeOfWire('base58'),
      read: ({ transaction }) => memberAt(transaction, ['signatures', '0']),
    };
  }

  #field(kind: Kind, name: string): ValueReader | undefined {
    const [, row] = fieldRows(kind).find(([known]) => known === name) ?? [];
    if (row === undefined) return undefined;
    this.fields.add(`${kind}.${name}`);
    return { type: typeOfWire(row.wire), read: fieldReader(kind, this.#kind, name) };
  }

  #decoded(head: string, rest: readonly string[]): ValueReader | undefined {
    if (this.#source !== 'instructions' && this.#source !== 'events') return undefined;
    const found = this.#decodedReader(head, rest);
    if (found !== undefined) this.fields.add('instruction.decoded');
    return found;
  }

  #decodedReader(head: string, rest: readonly string[]): ValueReader | undefined {
    const decodedOf =
      this.#source === 'events'
        ? ({ event }: RowContext) => event
        : ({ decoded }: RowContext) => decoded;
    const text = typeOfWire('text');
    const json = typeOfWire('decoded');
    if (rest.length === 0) {
      if (head === 'name') return { type: text, read: (row) => decodedOf(row)?.name };
      if (head === 'program') return { type: text, read: (row) => decodedOf(row)?.program };
      if (head === 'decodingError') return { type: text, read: (row) => decodedOf(row)?.error };
      if (head === 'args') return { type: json, read: (row) => decodedOf(row)?.args };
      if (head === 'namedAccounts') return { type: json, read: (row) => row.decoded?.accounts };
    }
    const tail = rest.join('.');
    if (head === 'accounts' && this.#layouts.some(({ accounts }) => accounts.includes(tail)))
      return { type: typeOfWire('address'), read: ({ decoded }) => decoded?.accounts?.[tail] };
    const field = head === 'args' ? this.#argument(rest) : undefined;
    if (field === undefined) return undefined;
    const [name = '', ...members] = rest;
    const isPlain = members.length === 0;
    return {
      type: typeOfArgument(field.type),
      read: isPlain
        ? (row) => decodedOf(row)?.args?.[name]
        : (row) => memberAt(decodedOf(row)?.args?.[name], members),
    };
  }

  #argument(path: readonly string[]): ProgramField | undefined {
    for (const { args } of this.#layouts) {
      let fields: readonly ProgramField[] = args;
      let found: ProgramField | undefined;
      for (const name of path) {
        found = fields.find((field) => field.name === name);
        fields = found?.fields ?? [];
      }
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns the paths that the columns of this table can use. */
  list(): readonly string[] {
    const record = Object.keys(FIELDS[this.#kind]);
    const decoded =
      this.#source === 'instructions' || this.#source === 'events'
        ? ['name', 'args', 'namedAccounts', 'decodingError']
        : [];
    const named = this.#layouts.flatMap(({ args, accounts }) => [
      ...args.map(({ name }) => `args.${name}`),
      ...accounts.map((name) => `accounts.${name}`),
    ]);
    const transaction = this.#hasTransaction
      ? ['transaction.signature', ...Object.keys(FIELDS.transaction).map((n) => `transaction.${n}`)]
      : [];
    const block = Object.keys(FIELDS.block).map((name) => `block.${name}`);
    return [...new Set([...named, ...decoded, ...record, ...transaction, 'block.time', ...block])];
  }
}

/** The names of an instruction or event, from an IDL. */
export interface DecodedLayout {
  readonly args: readonly ProgramField[];
  readonly accounts: readonly string[];
  readonly isVaried?: true;
}

/** Returns the layouts of the named instructions or events of a program, of all if no names are given. */
export function layoutsOf(
  program: ProgramInterface,
  source: 'instructions' | 'events',
  names: readonly string[],
): readonly DecodedLayout[] {
  const isNamed = ({ name }: { readonly name: string }) =>
    names.length === 0 || names.includes(name);
  if (source === 'instructions') return program.instructions.filter(isNamed);
  // An event has the accounts of the instruction that emitted it, which may be any.
  const accounts = [...new Set(program.instructions.flatMap(({ accounts }) => accounts))];
  return program.events.filter(isNamed).map((event) => ({ ...event, accounts }));
}

export function kindOfSource(source: TableSource): Kind {
  if (source === 'blocks') return 'block';
  return RECORD_ARRAYS[source === 'events' ? 'instructions' : source];
}

function fieldReader(kind: Kind, rowKind: Kind, name: string): ValueReader['read'] {
  if (kind === 'block') return ({ header }) => header[name];
  if (kind === 'transaction' && rowKind !== 'transaction')
    return ({ transaction }) => transaction?.[name];
  return ({ record }) => record[name];
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!hasMembers(found)) return null;
    found = found[name];
  }
  return found;
}

/** Returns the decimal text of an integer divided by a power of ten, with every digit; null if either is unknown. */
export function shiftDecimals(amount: unknown, digits: unknown): string | null {
  if (amount === null || amount === undefined || digits === null || digits === undefined)
    return null;
  const [, sign = '', integer = ''] = /^(-?)(\d+)$/.exec(String(amount)) ?? [];
  const count = Number(digits);
  if (integer === '' || !Number.isInteger(count)) return null;
  if (count <= 0) return `${sign}${integer}${'0'.repeat(-count)}`;
  const padded = integer.padStart(count + 1, '0');
  return `${sign}${padded.slice(0, -count)}.${padded.slice(-count)}`;
}
