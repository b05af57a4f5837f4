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
import type { DecodedValue } from '@sluice/client';
import { ARROW_TABLES, type ArrowTable, arrowColumnName } from '@sluice/protocol/arrow-table';
import { fieldRows, type Kind, type WireType } from '@sluice/protocol/field-table';
import { entriesOf } from '@sluice/protocol/typed-keys';
import { type JsonParts, toCamelCase } from './column-json.ts';
import { type Expression, parseExpression } from './parse-expression.ts';
import { kindOfSource, type RowContext } from './read-value.ts';
import type { TablePlan } from './table-plan.ts';

/** A field that a value uses: of the record or of its block, with the name of its column. */
interface UsedField {
  readonly kind: Kind;
  readonly name: string;
  readonly column: string;
  readonly wire: WireType;
}

/** The origin of a column: a column of the Arrow table by its name, or fields from which it is computed. */
export type ColumnOrigin =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'position' }
  | { readonly kind: 'json'; readonly parts: JsonParts }
  | { readonly kind: 'computed'; readonly fields: readonly UsedField[] };

export interface ColumnPlan {
  readonly table: ArrowTable;
  readonly query: TablePlan['query'];
  /** The instruction whose arguments and accounts have columns: PROGRAM.NAME. */
  readonly decoded: string | undefined;
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

/** Returns undefined if a column needs other records: rows of events, fields of the transaction, decimals of a mint. */
export function planColumns(plan: TablePlan): ColumnPlan | undefined {
  const { source } = plan.definition;
  const table = entriesOf(ARROW_TABLES).find(
    ([, array]) => array === (source === 'blocks' ? undefined : source),
  )?.[0];
  if (table === undefined || source === 'events') return undefined;
  const decoded = decodedInstruction(plan);
  const typed = plan.columns.map(({ value }) =>
    decoded === undefined ? undefined : typedColumn(value, plan),
  );
  const origins: ColumnOrigin[] = [];
  for (const [i, name] of typed.entries()) {
    const origin = name === undefined ? originOf(plan, i) : ({ kind: 'column', name } as const);
    if (origin === undefined) return undefined;
    origins.push(origin);
  }
  if (typed.every((name) => name === undefined))
    return { table, origins, query: plan.query, decoded: undefined };
  const usesText = origins.some(
    (origin) => origin.kind === 'computed' && origin.fields.some(({ name }) => name === 'decoded'),
  );
  return { table, origins, query: usesText ? plan.query : withoutDecoded(plan.query), decoded };
}

/** Returns how a column follows from columns of the Arrow table, or undefined if it needs other records. */
function originOf(plan: TablePlan, i: number): ColumnOrigin | undefined {
  const column = elementAt(plan.columns, i);
  if (column.value === 'rewardIndex' && column.isKey) return { kind: 'position' };
  const expression = parseExpression(column.value);
  const rowKind = kindOfSource(plan.definition.source);
  const fields = expression === undefined ? undefined : fieldsOf(expression, rowKind);
  // A number with an exponent is text that only PostgreSQL reads as another type.
  const isFloat = plan.readers[i]?.type.sql === 'double precision';
  if (fields === undefined || (isFloat && column.type.sql !== 'double precision')) return undefined;
  const [only] = fields;
  if (expression?.kind !== 'path' || only === undefined) return { kind: 'computed', fields };
  const parts = column.type.sql === 'jsonb' ? jsonParts(only) : undefined;
  if (parts !== undefined) return { kind: 'json', parts };
  if (computedWires.has(only.wire)) return { kind: 'computed', fields };
  return { kind: 'column', name: only.column };
}

/** Returns the one instruction that all rows are, if its IDLs agree about it. */
function decodedInstruction({ definition, layouts }: TablePlan): string | undefined {
  const named = definition.items.map(
    ({ programId, name }) => `${[programId].flat().join()}.${[name].flat().join()}`,
  );
  const [first = ''] = named;
  const isOne = named.every((other) => other === first) && /^\w+\.\w+$/.test(first);
  const isUniform = layouts.length > 0 && layouts.every(({ isVaried }) => isVaried !== true);
  return definition.source === 'instructions' && isOne && isUniform ? first : undefined;
}

/** The types of arguments whose column has the values that the text has. */
const typedArguments = /^([ui]\d+|bool|address|text)$/;

/** Returns the name of the column with an argument or account, if it has one with the same values. */
function typedColumn(value: string, { layouts }: TablePlan): string | undefined {
  const [, head = '', name = ''] = /^(args|accounts)\.(\w+)$/.exec(value) ?? [];
  const [layout] = layouts;
  if (layout === undefined || name === '') return undefined;
  if (head === 'accounts') return layout.accounts.includes(name) ? `accounts_${name}` : undefined;
  const argument = layout.args.find((known) => known.name === name);
  const isPlain =
    argument !== undefined && argument.isOptional !== true && typedArguments.test(argument.type);
  return isPlain ? `args_${name}` : undefined;
}

function withoutDecoded(query: TablePlan['query']): TablePlan['query'] {
  const { decoded: _, ...instruction } = query.fields?.instruction ?? {};
  return { ...query, fields: { ...query.fields, instruction } };
}

function fieldsOf(expression: Expression, rowKind: Kind): readonly UsedField[] | undefined {
  switch (expression.kind) {
    case 'integer':
      return [];
    case 'decimals':
      return undefined;
    case 'shift': {
      const [value, digits] = [expression.value, expression.digits].map((part) =>
        fieldsOf(part, rowKind),
      );
      return value === undefined || digits === undefined ? undefined : [...value, ...digits];
    }
    default:
      return fieldsOfPath(expression.path, rowKind);
  }
}

const decodedHeads = ['args', 'name', 'program', 'decodingError', 'namedAccounts'];

function fieldsOfPath(path: string, rowKind: Kind): readonly UsedField[] | undefined {
  const [head = '', ...rest] = path.split('.');
  const tail = rest.join('.');
  if (path === 'slot') return usedField('block', 'number');
  if (head === 'block') return usedField('block', tail === 'time' ? 'timestamp' : tail);
  if (path === 'transaction.signature')
    return [{ kind: rowKind, name: 'signature', column: 'signature', wire: 'base58' }];
  const isDecoded = decodedHeads.includes(head) || (head === 'accounts' && tail !== '');
  if (rowKind === 'instruction' && isDecoded) return usedField('instruction', 'decoded');
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
  #row = -1;

  constructor({ origins }: ColumnPlan, fields: readonly ArrowField[], batch: ArrowBatch) {
    const header: Record<string, unknown> = {};
    const record: Record<string, unknown> = {};
    this.#context = {
      ...{ header, record, transaction: record, decoded: undefined, event: undefined },
      decimalsOf: () => null,
    };
    const used = new Map<string, UsedField>();
    for (const origin of origins)
      if (origin.kind === 'computed')
        for (const field of origin.fields) used.set(`${field.kind}.${field.name}`, field);
    this.#readers = [...used.values()].map((field) => {
      const read = fieldReader(field, fields, batch);
      const target = field.kind === 'block' ? header : record;
      if (field.name === 'decoded')
        return (row) => {
          const text = read(row);
          // The service writes integers that a number cannot hold as text.
          const value: DecodedValue | undefined =
            typeof text === 'string' ? JSON.parse(text) : undefined;
          record['decoded'] = value;
          this.#context.decoded = value;
        };
      return (row) => {
        target[field.name] = read(row);
      };
    });
  }

  /** Returns the context of a row. It is the same object for all rows. */
  at(row: number): RowContext {
    if (row !== this.#row) for (const read of this.#readers) read(row);
    this.#row = row;
    return this.#context;
  }
}

function fieldReader(
  { name, column, wire }: UsedField,
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
  const values = valuesNamed(name === 'signature' ? 'signature' : column);
  switch (wire) {
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
