/** Parses the lines of a response to blocks, with every 64-bit quantity as a bigint. */

import type { Dialect } from '@sluice/protocol/dialect';
import {
  fieldRows,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
  type WireType,
} from '@sluice/protocol/field-table';
import type { FieldsBody } from '@sluice/protocol/query-body';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { type BlockRef, parseBlockRef } from '../base/block-ref.ts';
import { hasMarks, toBigint, unmark, unmarkDecoded } from '../base/exact-json.ts';
import { SluiceError } from '../base/sluice-error.ts';

type Values = Record<string, unknown>;

/** A parsed line: the records of each kind, with any fields. */
export interface ParsedBlock {
  readonly header: BlockRef & Values;
  readonly [array: string]: unknown;
}

type Revive = (record: Values) => void;

/** One function for each 64-bit field: accessing a property by a constant name is much faster. */
const REVIVERS: { readonly [K in Kind]?: Readonly<Partial<Record<string, Revive>>> } = {
  transaction: {
    err: (r) => {
      if (r['err'] !== null) r['err'] = unmark(r['err']);
    },
    fee: (r) => {
      r['fee'] = exact(r['fee']);
    },
    computeUnitsConsumed: (r) => {
      r['computeUnitsConsumed'] = exact(r['computeUnitsConsumed']);
    },
  },
  instruction: {
    computeUnitsConsumed: (r) => {
      r['computeUnitsConsumed'] = exact(r['computeUnitsConsumed']);
    },
  },
  balance: {
    pre: (r) => {
      r['pre'] = exact(r['pre']);
    },
    post: (r) => {
      r['post'] = exact(r['post']);
    },
  },
  tokenBalance: {
    preAmount: (r) => {
      r['preAmount'] = exact(r['preAmount']);
    },
    postAmount: (r) => {
      r['postAmount'] = exact(r['postAmount']);
    },
  },
};

/** The empty array that all blocks without records of a kind share. */
const noRecords: readonly unknown[] = Object.freeze([]);

/** The types that contain integers of 64 bits. */
const longTypes: ReadonlySet<WireType> = new Set(['quantity', 'seconds', 'errorObject']);

interface ArrayPlan {
  readonly name: RecordArray;
  /** Whether the records have values by an IDL. Their integers are rarely long, so they are searched only if the line has a long one. */
  readonly isDecoded: boolean;
  readonly revivers: readonly Revive[];
}

export type ParseLine = (line: string) => ParsedBlock;

/** Returns a parser for the lines of a query that selects these fields. */
export function buildBlockParser(fields: FieldsBody<Dialect>): ParseLine {
  const revive = buildBlockReviver(fields);
  return (line) => revive(parseObject(line), line);
}

/** Returns a function that converts a parsed line to a block, in place. Errors contain the text of the line. */
export function buildBlockReviver(
  fields: FieldsBody<Dialect>,
): (block: Values, line: string, hasLongIntegers?: boolean) => ParsedBlock {
  const plans: ArrayPlan[] = RECORD_ARRAY_NAMES.map((name) => ({
    name,
    isDecoded: selectedOf(RECORD_ARRAYS[name], fields)['decoded'] === true,
    revivers: reviversOf(RECORD_ARRAYS[name], fields),
  }));
  const headerRevivers = reviversOf('block', fields);
  return (block, line, hasLongIntegers) => {
    requireHeader(block, line);
    for (const revive of headerRevivers) revive(block.header);
    for (const plan of plans) reviveArray(block, plan, { line, hasLongIntegers });
    return block;
  };
}

function reviveArray(
  block: Values,
  { name, isDecoded, revivers }: ArrayPlan,
  {
    line,
    hasLongIntegers,
  }: { readonly line: string; readonly hasLongIntegers: boolean | undefined },
): void {
  const records = block[name];
  if (records === undefined) {
    block[name] = noRecords;
    return;
  }
  if (!Array.isArray(records)) throw malformed(line, `${name} is not an array`);
  for (const revive of revivers) for (const record of records) revive(record);
  if (isDecoded && (hasLongIntegers ?? hasMarks(line)))
    for (const record of records) unmarkDecoded(record);
}

function reviversOf(kind: Kind, fields: FieldsBody<Dialect>): Revive[] {
  const selected = selectedOf(kind, fields);
  const named = REVIVERS[kind];
  return fieldRows(kind)
    .filter(([name, { wire }]) => selected[name] === true && longTypes.has(wire))
    .map(([name, { wire }]) => named?.[name] ?? reviver(name, wire));
}

function selectedOf(
  kind: Kind,
  fields: FieldsBody<Dialect>,
): Readonly<Record<string, boolean | undefined>> {
  return fields[kind] ?? {};
}

function reviver(name: string, wire: WireType): Revive {
  const revive = wire === 'errorObject' ? unmark : exact;
  return (record) => {
    record[name] = revive(record[name]);
  };
}

/** A field that the service did not send stays absent. */
function exact(value: unknown): bigint | null | undefined {
  if (value === null || value === undefined) return value;
  const integer = toBigint(value);
  if (integer === undefined) {
    const found = String(value).slice(0, 40);
    throw new SluiceError('response-malformed', {
      detail: `expected a whole number, found ${found}`,
    });
  }
  return integer;
}

function parseObject(line: string): Values {
  try {
    const value: unknown = JSON.parse(line);
    if (hasMembers(value)) return value;
  } catch (cause) {
    throw new SluiceError('response-malformed', {
      detail: `a line is not JSON: ${cut(line)}`,
      cause,
    });
  }
  throw malformed(line, 'a line is not an object');
}

function requireHeader(block: Values, line: string): asserts block is Values & ParsedBlock {
  if (parseBlockRef(block['header']) === undefined) {
    throw malformed(line, 'a header has no number and hash');
  }
}

function malformed(line: string, what: string): SluiceError {
  return new SluiceError('response-malformed', { detail: `${what}: ${cut(line)}` });
}

function cut(line: string): string {
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
