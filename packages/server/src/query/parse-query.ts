/**
 * Parses a request body into a typed query. Every body gives either a valid query or a coded error with the path of the
 * invalid value, the value found and the allowed values.
 *
 *   bytes ─► size ─► depth ─► UTF-8 ─► JSON ─► unique keys ─► decode ─► Query
 */
import { CodedError } from '@sluice/base/errors';
import { runToCompletion, type Steps } from '@sluice/base/time-slices';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { DIALECT_DEFAULT, DIALECTS, type Dialect } from '@sluice/protocol/dialect';
import {
  defaultFieldNames,
  fieldNames,
  KINDS,
  type Kind,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from '@sluice/protocol/field-table';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { AddressSets } from './address-set.ts';
import { parseBlockNumber, toSlotBound } from './parse-block-number.ts';
import { parseItems, QueryBudget } from './parse-items.ts';
import type { FieldLists, Items, Query } from './query.ts';
import {
  BODY_PATH,
  type JsonObject,
  joinPath,
  ownValue,
  quote,
  refuse,
  requireBoolean,
  requireKnownKeys,
  requireObject,
} from './query-refusal.ts';
import { checkDepth, scanKeys } from './scan-body.ts';

export interface ParseQueryOptions {
  readonly limits: QueryLimits;
  readonly dialects: readonly Dialect[];
  /** The IDLs with the names of instructions. Default: those of the ledger's own programs. */
  readonly idls?: IdlRegistry;
  /** The sets of addresses that filters can refer to. Default: none. */
  readonly sets?: AddressSets;
}

const builtinIdls = new IdlRegistry();

const queryKeys = [
  'type',
  'fromBlock',
  'toBlock',
  'parentBlockHash',
  'includeAllBlocks',
  'fields',
  ...RECORD_ARRAY_NAMES,
];

/** Parses a query from the body of a request, as bytes or text. */
export function parseQueryBody(body: Uint8Array | string, options: ParseQueryOptions): Query {
  return runToCompletion(parseQuerySteps(body, options));
}

/** Parses a query in steps, because parsing the largest body at once would block the event loop for too long. */
export function* parseQuerySteps(
  body: Uint8Array | string,
  options: ParseQueryOptions,
): Steps<Query> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const { bodyBytesMax, depthMax } = options.limits;
  if (bytes.length > bodyBytesMax) {
    const allowed = `${bodyBytesMax} bytes`;
    refuse('query-too-large', { path: BODY_PATH, found: bytes.length, allowed });
  }
  checkDepth(bytes, depthMax);
  yield;
  const text = decodeText(bytes);
  const value = parseJson(text);
  yield;
  const numberTexts = scanKeys(text);
  yield;
  return yield* decodeQuery(value, numberTexts, options);
}

/** Parses a query from an already parsed JSON value. Its block numbers are only as exact as JavaScript numbers. */
export function parseQuery(value: unknown, options: ParseQueryOptions): Query {
  return runToCompletion(decodeQuery(value, new Map(), options));
}

function decodeText(bytes: Uint8Array): string {
  // A byte order mark is kept, so that the JSON parser rejects it.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const text = attempt(() => decoder.decode(bytes));
  if (text instanceof Error) {
    throw new CodedError('query-not-utf8', { path: BODY_PATH, allowed: 'UTF-8' }, { cause: text });
  }
  return text;
}

function parseJson(text: string): unknown {
  const value = attempt<unknown>(() => JSON.parse(text));
  if (value instanceof Error) {
    const detail = { path: BODY_PATH, found: quote(value.message), allowed: 'JSON' };
    throw new CodedError('query-not-json', detail, { cause: value });
  }
  return value;
}

function attempt<Value>(action: () => Value): Value | Error {
  try {
    return action();
  } catch (error) {
    return error as Error;
  }
}

function* decodeQuery(
  value: unknown,
  numberTexts: ReadonlyMap<string, string>,
  { limits, dialects, idls = builtinIdls, sets }: ParseQueryOptions,
): Steps<Query> {
  const body = requireObject(value, BODY_PATH);
  requireKnownKeys(body, queryKeys, BODY_PATH);
  const dialect = parseDialect(body, dialects);
  const range = parseRange(body, numberTexts, dialect);
  const includeAllBlocks = ownValue(body, 'includeAllBlocks');
  const budget = new QueryBudget(limits, dialect);
  const items: Partial<Record<RecordArray, unknown>> = {};
  for (const array of RECORD_ARRAY_NAMES)
    items[array] = yield* parseItems(body, array, { budget, idls, sets });
  const fields = parseFields(body, dialect);
  const isDecoded = fields.instruction.includes('decoded') || fields.log.includes('decoded');
  return {
    ...range,
    parentBlockHash: parseParentBlockHash(body),
    dialect,
    includeAllBlocks:
      includeAllBlocks !== undefined && requireBoolean(includeAllBlocks, 'includeAllBlocks'),
    fields,
    ...(isDecoded ? { idlVersion: idls.version } : {}),
    ...(items as Items),
  };
}

function parseDialect(body: JsonObject, dialects: readonly Dialect[]): Dialect {
  const value = ownValue(body, 'type');
  if (value === undefined) return DIALECT_DEFAULT;
  const dialect = dialects.find((name) => name === value);
  if (dialect === undefined) {
    const allowed = dialects.join(', ');
    refuse('query-type-not-allowed', {
      path: 'type',
      found: value,
      allowed,
      remedy: remedy(value),
    });
  }
  return dialect;
}

/** Returns how an operator allows a dialect that exists. */
function remedy(type: unknown): string | undefined {
  if (!DIALECTS.some((name) => name === type)) return undefined;
  return `start the service with --dialect ${type}, or write dialects: [${DIALECTS.join(', ')}] in its configuration`;
}

function parseRange(
  body: JsonObject,
  numberTexts: ReadonlyMap<string, string>,
  dialect: Dialect,
): Pick<Query, 'fromBlock' | 'toBlock'> {
  // Clients of the dialect `solana` may leave it out for a range from slot 0.
  const missing = dialect === 'solana' ? 0n : undefined;
  const fromBlock = readBlockNumber(body, 'fromBlock', numberTexts) ?? missing;
  if (fromBlock === undefined) {
    const allowed = 'the number of the first block';
    refuse('query-key-missing', { path: 'fromBlock', found: undefined, allowed });
  }
  const toBlock =
    ownValue(body, 'toBlock') === null ? undefined : readBlockNumber(body, 'toBlock', numberTexts);
  if (toBlock !== undefined && toBlock < fromBlock) {
    throw new CodedError('range-reversed', {
      path: 'toBlock',
      found: toBlock,
      allowed: `${fromBlock} or more`,
    });
  }
  return {
    fromBlock: toSlotBound(fromBlock),
    toBlock: toBlock === undefined ? undefined : toSlotBound(toBlock),
  };
}

function readBlockNumber(
  body: JsonObject,
  key: string,
  numberTexts: ReadonlyMap<string, string>,
): bigint | undefined {
  const value = ownValue(body, key);
  if (value === undefined) return undefined;
  if (typeof value !== 'number') {
    const allowed = 'a non-negative integer';
    refuse('query-block-number-invalid', { path: key, found: value, allowed });
  }
  return parseBlockNumber(numberTexts.get(key) ?? String(value), key);
}

/** Accepts any text, because a client that recovers from a fork sends a wrong hash on purpose. */
function parseParentBlockHash(body: JsonObject): string | undefined {
  const value = ownValue(body, 'parentBlockHash');
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    const allowed = 'a string';
    refuse('query-value-invalid', { path: 'parentBlockHash', found: value, allowed });
  }
  return value;
}

const path = 'fields';

/** Parses the selector `fields` of a query into the fields to send for each kind, in wire order. */
function parseFields(body: JsonObject, dialect: Dialect): FieldLists {
  const value = ownValue(body, path);
  if (value === undefined) return toLists((kind) => defaultFieldNames(kind, dialect));
  const selectors = requireObject(value, path);
  requireKnownKeys(selectors, KINDS, path);
  return toLists((kind) => parseSelector(selectors, kind, dialect));
}

function parseSelector(selectors: JsonObject, kind: Kind, dialect: Dialect): readonly string[] {
  const kindPath = joinPath(path, kind);
  const value = ownValue(selectors, kind);
  const selector = value === undefined ? {} : requireObject(value, kindPath);
  const names: readonly string[] = fieldNames(kind, dialect);
  requireKnownKeys(selector, names, kindPath);
  return names.filter((name) => {
    const wanted = ownValue(selector, name);
    const isEnabled = wanted !== undefined && requireBoolean(wanted, joinPath(kindPath, name));
    // The number is always sent, because a client needs it to resume.
    return isEnabled || (kind === 'block' && name === 'number');
  });
}

function toLists(namesOf: (kind: Kind) => readonly string[]): FieldLists {
  // The names come from the table from which the type is derived.
  return mapKeys(KINDS, namesOf) as FieldLists;
}
