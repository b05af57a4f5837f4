/**
 * How the rows of a table follow from the columns of an Arrow table of the service, which is much less work than rows from lines of JSON.
 * Most columns are a column of the Arrow table; others are computed row by row from the fields that their expressions use.
 */
import type { ArrowField } from '@sluice/arrow/arrow-type';
import {
  type ArrowBatch,
  type ArrowValue,
  isArrowList,
  isArrowStruct,
  valuesOf,
} from '@sluice/arrow/ipc-reader';
import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { ARROW_TABLES, arrowColumnName } from '@sluice/protocol/arrow-table';
import { fieldRows, type Kind, type WireType } from '@sluice/protocol/field-table';
import { entriesOf } from '@sluice/protocol/typed-keys';
import { type JsonParts, toCamelCase } from './column-json.ts';
import { type Expression, parseExpression } from './parse-expression.ts';
import {
  type DecodedForm,
  type DecodedLayout,
  kindOfSource,
  type RowContext,
} from './read-value.ts';
import type { TablePlan } from './table-plan.ts';

/** A value that an expression uses: a field of the record or of its block, an argument, an account, or the decimals of a mint. */
interface UsedField {
  readonly kind: Kind | 'args' | 'accounts' | 'decimals';
  readonly name: string;
  /** The name of its column. */
  readonly column: string;
  readonly wire: WireType;
  /** The column of the mint, of decimals. */
  readonly mint?: string;
}

/** The columns of an amount and of its digits, or a constant number of digits. */
export interface ShiftParts {
  readonly amount: string;
  readonly digits: string | number;
}

/** The origin of a column: a column of the Arrow table by its name, or fields from which it is computed. */
export type ColumnOrigin =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'position' }
  | { readonly kind: 'json'; readonly parts: JsonParts }
  | {
      readonly kind: 'computed';
      readonly fields: readonly UsedField[];
      readonly shift: ShiftParts | undefined;
    };

export interface ColumnPlan {
  readonly query: TablePlan['query'];
  /** The table and the further columns that the service is asked for. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly origins: readonly ColumnOrigin[];
}

/** Returns the columns of a field whose JSON follows from its columns without an object for each value. */
function jsonParts({ wire, column }: UsedField): JsonParts | undefined {
  if (wire === 'addressTableLookups') return column;
  if (wire !== 'loadedAddresses') return undefined;
  return { readonly: `${column}_readonly`, writable: `${column}_writable` };
}

/** Values of these types have another form in an Arrow table. */
const computedWires: ReadonlySet<WireType> = new Set([
  'decoded',
  'hex',
  'loadedAddresses',
  'addressTableLookups',
  'errorObject',
]);

/** The names by which the values of a table are found in its columns. */
interface ColumnScope {
  readonly rowKind: Kind;
  /** The one instruction or event that all rows are, with columns for its arguments and accounts. */
  readonly layout: DecodedLayout | undefined;
  readonly isEvent: boolean;
}

/** Returns undefined if a column needs other records, such as fields of the transaction, or if events are not all of one kind. */
export function planColumns(plan: TablePlan): ColumnPlan | undefined {
  const { source } = plan.definition;
  const isEvent = source === 'events';
  const array = isEvent ? 'instructions' : source;
  const table = entriesOf(ARROW_TABLES).find(
    ([, known]) => known === (array === 'blocks' ? undefined : array),
  )?.[0];
  const decoded = decodedLayout(plan);
  if (table === undefined || (isEvent && decoded === undefined)) return undefined;
  const scope = { rowKind: kindOfSource(source), layout: decoded?.layout, isEvent };
  const origins: ColumnOrigin[] = [];
  for (const i of plan.columns.keys()) {
    const origin = originOf(plan, i, scope);
    if (origin === undefined) return undefined;
    origins.push(origin);
  }
  const fields = origins.flatMap((origin) => (origin.kind === 'computed' ? origin.fields : []));
  const mints = fields.flatMap(({ kind, name }) => (kind === 'decimals' ? [name] : []));
  const isTyped =
    isEvent ||
    fields.some(({ kind }) => kind === 'args' || kind === 'accounts') ||
    origins.some((origin) => origin.kind === 'column' && /^(args|accounts)_/.test(origin.name));
  const accounts = isEvent ? usedAccounts(origins) : [];
  const parameters = {
    table,
    ...(isTyped && decoded !== undefined ? { [isEvent ? 'event' : 'decoded']: decoded.name } : {}),
    ...(accounts.length === 0 ? {} : { accounts: accounts.join() }),
    ...(mints.length === 0 ? {} : { decimals: [...new Set(mints)].join() }),
  };
  const usesText = fields.some(({ name, kind }) => name === 'decoded' && kind === 'instruction');
  return { query: usesText ? plan.query : withoutDecoded(plan.query), parameters, origins };
}

/** Returns the names of the accounts of which columns are needed. */
function usedAccounts(origins: readonly ColumnOrigin[]): readonly string[] {
  const columns = origins.flatMap((origin) => {
    if (origin.kind === 'column') return [origin.name];
    return origin.kind === 'computed' ? origin.fields.map(({ column }) => column) : [];
  });
  const names = columns.flatMap((name) => /^accounts_(.+)$/.exec(name)?.[1] ?? []);
  return [...new Set(names)];
}

/** Returns how a column follows from columns of the Arrow table, or undefined if it needs other records. */
function originOf(plan: TablePlan, i: number, scope: ColumnScope): ColumnOrigin | undefined {
  const column = elementAt(plan.columns, i);
  if (column.value === 'rewardIndex' && column.isKey) return { kind: 'position' };
  if (column.value === 'eventIndex' && column.isKey) return { kind: 'column', name: 'event_index' };
  const expression = parseExpression(column.value);
  const fields = expression === undefined ? undefined : fieldsOf(expression, scope);
  // A number with an exponent is text that only PostgreSQL reads as another type.
  const isFloat = plan.readers[i]?.type.sql === 'double precision';
  if (fields === undefined || (isFloat && column.type.sql !== 'double precision')) return undefined;
  const [only] = fields;
  const shift = expression?.kind === 'shift' ? shiftParts(expression, scope) : undefined;
  if (expression?.kind !== 'path' || only === undefined) return { kind: 'computed', fields, shift };
  const parts = column.type.sql === 'jsonb' ? jsonParts(only) : undefined;
  if (parts !== undefined) return { kind: 'json', parts };
  if (computedWires.has(only.wire)) return { kind: 'computed', fields, shift };
  return { kind: 'column', name: only.column };
}

function shiftParts(
  { value, digits }: Extract<Expression, { readonly kind: 'shift' }>,
  scope: ColumnScope,
): ShiftParts | undefined {
  const columnOf = (part: Expression) =>
    part.kind === 'path' || part.kind === 'decimals' ? fieldsOf(part, scope)?.at(-1) : undefined;
  const amount = columnOf(value)?.column;
  const count = digits.kind === 'integer' ? digits.value : columnOf(digits)?.column;
  return amount === undefined || count === undefined ? undefined : { amount, digits: count };
}

/** Returns the one instruction or event that all rows are, as PROGRAM.NAME, if the IDLs agree about it. */
function decodedLayout({
  definition,
  layouts,
}: TablePlan): { readonly name: string; readonly layout: DecodedLayout } | undefined {
  const named = definition.items.map(
    ({ programId, name }) => `${[programId].flat().join()}.${[name].flat().join()}`,
  );
  const [name = ''] = named;
  const [layout] = layouts;
  const isOne = named.every((other) => other === name) && /^\w+\.\w+$/.test(name);
  const isUniform = layouts.every(({ isVaried }) => isVaried !== true);
  return isOne && isUniform && layout !== undefined ? { name, layout } : undefined;
}

function withoutDecoded(query: TablePlan['query']): TablePlan['query'] {
  const { decoded: _, ...instruction } = query.fields?.instruction ?? {};
  return { ...query, fields: { ...query.fields, instruction } };
}

function fieldsOf(expression: Expression, scope: ColumnScope): readonly UsedField[] | undefined {
  switch (expression.kind) {
    case 'integer':
      return [];
    case 'decimals': {
      const { mint } = expression;
      const found = mint.kind === 'path' ? typedField(mint.path, scope) : undefined;
      if (mint.kind !== 'path' || found === undefined) return undefined;
      const column = `decimals_${found.column}`;
      const decimals = { kind: 'decimals', name: mint.path, column, wire: 'integer' } as const;
      return [found, { ...decimals, mint: found.column }];
    }
    case 'shift': {
      const [value, digits] = [expression.value, expression.digits].map((part) =>
        fieldsOf(part, scope),
      );
      return value === undefined || digits === undefined ? undefined : [...value, ...digits];
    }
    default:
      return fieldsOfPath(expression.path, scope);
  }
}

/** Returns the argument or account that has a column. Members of an argument are read from the JSON of its column. */
function typedField(path: string, { layout }: ColumnScope): UsedField | undefined {
  const [, kind, name = ''] = /^(args|accounts)\.(.+)$/.exec(path) ?? [];
  if (kind === 'accounts' && layout?.accounts.includes(name) === true)
    return { kind, name, column: `accounts_${name}`, wire: 'address' };
  const argument = layout?.args.find((known) => known.name === name.split('.')[0]);
  if (kind !== 'args' || argument === undefined) return undefined;
  const wire = /^(struct|json)$/.test(argument.type) ? 'decoded' : 'text';
  return { kind, name: argument.name, column: `args_${argument.name}`, wire };
}

const decodedHeads = ['args', 'name', 'program', 'decodingError', 'namedAccounts'];

function fieldsOfPath(path: string, scope: ColumnScope): readonly UsedField[] | undefined {
  const { rowKind, isEvent } = scope;
  const [head = '', ...rest] = path.split('.');
  const tail = rest.join('.');
  if (path === 'slot') return usedField('block', 'number');
  if (head === 'block') return usedField('block', tail === 'time' ? 'timestamp' : tail);
  if (path === 'transaction.signature')
    return [{ kind: rowKind, name: 'signature', column: 'signature', wire: 'base58' }];
  const typed = typedField(path, scope);
  if (typed !== undefined) return [typed];
  const isDecoded = decodedHeads.includes(head) || (head === 'accounts' && tail !== '');
  if (rowKind === 'instruction' && isDecoded)
    return isEvent ? undefined : usedField('instruction', 'decoded');
  if (head === 'transaction' && rowKind === 'transaction') return usedField(rowKind, tail);
  return tail === '' ? usedField(rowKind, path) : undefined;
}

/** The record counts are several columns, and the address of a reward has one column for two names. */
const withoutColumn: ReadonlySet<string> = new Set(['recordCounts', 'finalizedHead', 'pubkey']);

function usedField(kind: Kind, name: string): readonly UsedField[] | undefined {
  const [, row] = fieldRows(kind).find(([known]) => known === name) ?? [];
  if (row === undefined || withoutColumn.has(name)) return undefined;
  return [
    {
      kind,
      name,
      column: arrowColumnName(kind, name === 'parentNumber' ? 'parentSlot' : name),
      wire: row.wire,
    },
  ];
}

/** Reads the fields of computed columns of a batch, in the form that a line has. */
export class BatchContext {
  readonly #context: RowContext;
  readonly #readers: readonly ((row: number) => void)[];
  readonly #decimals = new Map<unknown, unknown>();
  #row = -1;

  constructor({ origins }: ColumnPlan, fields: readonly ArrowField[], batch: ArrowBatch) {
    const header: Record<string, unknown> = {};
    const record: Record<string, unknown> = {};
    const args: Record<string, unknown> = {};
    const accounts: Record<string, unknown> = {};
    const decoded = { args, accounts };
    this.#context = {
      ...{ header, record, transaction: record, decoded, event: decoded },
      decimalsOf: (mint) => this.#decimals.get(mint) ?? null,
    };
    const used = new Map<string, UsedField>();
    for (const origin of origins)
      if (origin.kind === 'computed')
        for (const field of origin.fields) used.set(`${field.kind}.${field.name}`, field);
    const targets = { args, accounts, block: header } as const;
    this.#readers = [...used.values()].map((field) => {
      const { kind, name, mint } = field;
      const read = lazyReader(() => fieldReader(field, fields, batch));
      if (mint !== undefined) {
        const readMint = lazyReader(() => fieldReader({ ...field, column: mint }, fields, batch));
        return (row) => this.#decimals.set(readMint(row), read(row));
      }
      if (kind === 'instruction' && name === 'decoded')
        return (row) => {
          const text = read(row);
          // The service writes integers that a number cannot hold as text.
          const value: DecodedForm | undefined =
            typeof text === 'string' ? JSON.parse(text) : undefined;
          record['decoded'] = value;
          this.#context.decoded = value;
        };
      const target: Record<string, unknown> =
        kind === 'args' || kind === 'accounts' || kind === 'block' ? targets[kind] : record;
      return (row) => {
        target[name] = read(row);
      };
    });
  }

  /** Returns the context of a row. It is the same object for all rows. */
  at(row: number): RowContext {
    if (row !== this.#row) {
      this.#decimals.clear();
      for (const read of this.#readers) read(row);
    }
    this.#row = row;
    return this.#context;
  }
}

/** Makes a reader when it is first used: the values of a column are not needed if all rows are written from its buffers. */
function lazyReader(make: () => (row: number) => unknown): (row: number) => unknown {
  let read: ((row: number) => unknown) | undefined;
  return (row) => {
    read ??= make();
    return read(row);
  };
}

function fieldReader(
  { kind, column, wire }: UsedField,
  fields: readonly ArrowField[],
  batch: ArrowBatch,
): (row: number) => unknown {
  const valuesNamed = (wanted: string): readonly ArrowValue[] => {
    const i = fields.findIndex((field) => field.name === wanted);
    const [field, data] = [fields[i], batch.columns[i]];
    return field === undefined || data === undefined ? [] : valuesOf(field, data, batch.dictionary);
  };
  if (wire === 'loadedAddresses') {
    const [writable, readonly] = [
      valuesNamed(`${column}_writable`),
      valuesNamed(`${column}_readonly`),
    ];
    return (row) => ({ readonly: readonly[row], writable: writable[row] });
  }
  const values = valuesNamed(column);
  switch (wire) {
    case 'decoded':
      return kind === 'args' ? (row) => parseArgument(values[row]) : (row) => values[row];
    case 'addressTableLookups':
      return (row) => camelCased(values[row] ?? null);
    case 'errorObject':
      return (row) => parseExact(values[row]);
    case 'base58':
      return (row) => {
        const value = values[row];
        return value instanceof Uint8Array ? encodeBase58(value) : value;
      };
    default:
      return (row) => values[row];
  }
}

/** Returns the value of an argument that is a structure, a list or the name of a variant, which has no quotes in its column. */
function parseArgument(text: unknown): unknown {
  const isName = typeof text === 'string' && !/^([[{\-\d]|(true|false)$)/.test(text);
  return isName ? text : parseExact(text);
}

function camelCased(value: ArrowValue): unknown {
  if (isArrowList(value)) return value.map(camelCased);
  if (!isArrowStruct(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [toCamelCase(name), camelCased(part)]),
  );
}

const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON. An integer that a number cannot hold becomes text, as the client does it. */
function parseExact(text: unknown) {
  if (typeof text !== 'string') return undefined;
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(
    text.replace(tokens, (token) =>
      /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
    ),
  );
}
