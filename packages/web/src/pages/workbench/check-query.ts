/**
 * Checks a query with the same tables as the service, so that errors are shown before the query is sent. The service makes the final
 * decision.
 */
import { isAddress } from '@sluice/client';
import { DIALECT_DEFAULT, type Dialect } from '@sluice/protocol/dialect';
import {
  fieldNames,
  KINDS,
  type Kind,
  LOG_KINDS,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from '@sluice/protocol/field-table';
import { listValueCountMaxOf, type QueryLimits } from '@sluice/protocol/query-limits';
import {
  describeValues,
  type FilterRow,
  filterRows,
  relationRows,
  replacedRows,
} from '@sluice/protocol/request-table';
import { isObject, type JsonObject } from './query-model.ts';

export type Path = readonly (string | number)[];

export interface Problem {
  readonly path: Path;
  readonly message: string;
}

export interface CheckOptions {
  readonly dialects: readonly string[];
  readonly limits: QueryLimits;
}

export const queryKeys = [
  'type',
  'fromBlock',
  'toBlock',
  'parentBlockHash',
  'includeAllBlocks',
  'fields',
  ...RECORD_ARRAY_NAMES,
] as const;

/** Further problems are not shown, because they usually follow from the first ones. */
const problemCountMax = 50;

export function checkQuery(query: JsonObject, options: CheckOptions): readonly Problem[] {
  const check = new QueryCheck(query, options);
  check.run();
  return check.problems.slice(0, problemCountMax);
}

class QueryCheck {
  readonly problems: Problem[] = [];
  readonly #query: JsonObject;
  readonly #options: CheckOptions;
  #itemCount = 0;
  #valueCount = 0;

  constructor(query: JsonObject, options: CheckOptions) {
    this.#query = query;
    this.#options = options;
  }

  run(): void {
    this.#checkKeys(this.#query, queryKeys, []);
    this.#checkType();
    this.#checkRange();
    this.#checkPlain();
    this.#checkFields();
    for (const array of RECORD_ARRAY_NAMES) this.#checkItems(array);
    const { itemCountMax, valueCountMax } = this.#options.limits;
    if (this.#itemCount > itemCountMax)
      this.#add([], `at most ${itemCountMax} items in all arrays together`);
    if (this.#valueCount > valueCountMax)
      this.#add([], `at most ${valueCountMax} values in all lists together`);
  }

  #add(path: Path, message: string): void {
    this.problems.push({ path, message });
  }

  #checkKeys(value: JsonObject, known: readonly string[], path: Path): void {
    for (const name of Object.keys(value)) {
      if (!known.includes(name))
        this.#add([...path, name], `unknown key; allowed: ${known.join(', ')}`);
    }
  }

  get #dialect(): Dialect {
    return (this.#query['type'] ?? DIALECT_DEFAULT) as Dialect;
  }

  #checkType(): void {
    const { type } = this.#query;
    if (type === undefined || this.#options.dialects.includes(String(type))) return;
    this.#add(['type'], `this dataset allows: ${this.#options.dialects.join(', ')}`);
  }

  #checkRange(): void {
    const { fromBlock, toBlock } = this.#query;
    if (fromBlock === undefined) {
      if (this.#dialect !== 'solana')
        this.#add(['fromBlock'], 'fromBlock is required: the first slot');
    } else if (!isSlot(fromBlock))
      this.#add(['fromBlock'], 'expected a slot, a whole number from 0');
    if (toBlock === undefined || toBlock === null) return;
    if (!isSlot(toBlock)) this.#add(['toBlock'], 'expected a slot, a whole number from 0, or null');
    else if (isSlot(fromBlock) && toBlock < fromBlock)
      this.#add(['toBlock'], 'toBlock is below fromBlock');
  }

  #checkPlain(): void {
    const { parentBlockHash: hash, includeAllBlocks: all } = this.#query;
    if (hash !== undefined && hash !== null && typeof hash !== 'string')
      this.#add(['parentBlockHash'], 'expected a text or null');
    if (all !== undefined && typeof all !== 'boolean')
      this.#add(['includeAllBlocks'], 'expected true or false');
  }

  #checkFields(): void {
    const { fields } = this.#query;
    if (fields === undefined) return;
    if (!isObject(fields)) {
      this.#add(['fields'], 'expected an object with a key for each kind of record');
      return;
    }
    this.#checkKeys(fields, KINDS, ['fields']);
    for (const kind of KINDS) this.#checkSelector(kind, fields[kind]);
  }

  #checkSelector(kind: Kind, selector: unknown): void {
    if (selector === undefined) return;
    const path = ['fields', kind];
    if (!isObject(selector)) {
      this.#add(path, 'expected an object of field names with true or false');
      return;
    }
    this.#checkKeys(selector, fieldNames(kind, this.#dialect), path);
    for (const [name, value] of Object.entries(selector)) {
      if (typeof value !== 'boolean') this.#add([...path, name], 'expected true or false');
    }
  }

  #checkItems(array: RecordArray): void {
    const items = this.#query[array];
    if (items === undefined) return;
    if (!Array.isArray(items)) {
      this.#add([array], 'expected a list of items');
      return;
    }
    this.#itemCount += items.length;
    for (const [index, item] of items.entries()) {
      if (isObject(item)) this.#checkItem(array, item, [array, index]);
      else this.#add([array, index], 'expected an object with filters; {} selects every record');
    }
  }

  #checkItem(array: RecordArray, item: JsonObject, path: Path): void {
    const filters = new Map<string, FilterRow>([...filterRows(array), ...replacedRows(array)]);
    const relations = relationRows(array).map(([name]): string => name);
    this.#checkKeys(item, [...filters.keys(), ...relations], path);
    for (const [name, value] of Object.entries(item)) {
      const filter = filters.get(name);
      if (filter !== undefined) this.#checkFilter(filter, value, [...path, name]);
      else if (relations.includes(name) && typeof value !== 'boolean')
        this.#add([...path, name], 'expected true or false');
    }
  }

  #checkFilter(row: FilterRow, value: unknown, path: Path): void {
    if (value === null) return;
    const allowed = `expected ${describeValues(row).replaceAll('`', '')}`;
    if (row.value === 'boolean') {
      if (typeof value !== 'boolean') this.#add(path, allowed);
      return;
    }
    if (!Array.isArray(value)) {
      this.#valueCount++;
      if (!fits(row, value)) this.#add(path, allowed);
      return;
    }
    const countMax = listValueCountMaxOf(this.#dialect, this.#options.limits);
    if (value.length > countMax) this.#add(path, `at most ${countMax} values`);
    this.#valueCount += value.length;
    for (const [index, element] of value.entries()) {
      if (!fits(row, element)) this.#add([...path, index], allowed);
    }
  }
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function fits(row: FilterRow, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  switch (row.value) {
    case 'address':
      return isAddress(value);
    case 'logKind':
      return LOG_KINDS.some((kind) => kind === value);
    case 'discriminator':
      return new RegExp(`^0x[0-9a-fA-F]{${2 * row.bytes}}$`).test(value);
    case 'prefix':
      return new RegExp(`^0x([0-9a-fA-F]{2}){0,${row.bytes}}$`).test(value);
    case 'name':
      return true;
    case 'boolean':
      return false;
  }
}
