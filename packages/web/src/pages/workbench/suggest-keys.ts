/** Returns the possible keys and values at a position of a query, from the tables of the protocol, for completion and the form. */
import {
  fieldRows,
  KINDS,
  LOG_KINDS,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from '@sluice/protocol/field-table';
import { filterRows, relationRows } from '@sluice/protocol/request-table';
import { type Path, queryKeys } from './check-query.ts';

export interface Suggestion {
  readonly name: string;
  readonly text: string;
  /** The JSON to insert after the name. `|` marks the position of the cursor. */
  readonly value: string;
}

const keyTexts: Readonly<Record<string, readonly [string, string]>> = {
  type: ['The dialect of the response.', '"ledger"'],
  fromBlock: ['First slot of the range. Required.', '|'],
  toBlock: ['Last slot, inclusive. Without it the stream follows the ledger.', '|'],
  parentBlockHash: ['Expected hash of the block before the first one.', '"|"'],
  includeAllBlocks: ['Include blocks without matching records.', 'true'],
  fields: ['Which fields to send, for each kind of record.', '{|}'],
};

export function suggestKeys(path: Path): readonly Suggestion[] {
  const [first, second] = path;
  if (path.length === 0) {
    return queryKeys.map((name) => {
      const [text, value] = keyTexts[name] ?? [`Items that select ${name}.`, '[{|}]'];
      return { name, text, value };
    });
  }
  if (first === 'fields') return path.length === 1 ? suggestKinds() : suggestFields(second);
  const array = RECORD_ARRAY_NAMES.find((name) => name === first);
  return array !== undefined && path.length === 2 ? suggestItemKeys(array) : [];
}

function suggestKinds(): readonly Suggestion[] {
  return KINDS.map((kind) => ({ name: kind, text: `Fields of each ${kind}.`, value: '{|}' }));
}

function suggestFields(kind: string | number | undefined): readonly Suggestion[] {
  const known = KINDS.find((name) => name === kind);
  if (known === undefined) return [];
  return fieldRows(known).map(([name, row]) => ({ name, text: row.text, value: 'true' }));
}

function suggestItemKeys(array: RecordArray): readonly Suggestion[] {
  const filters = filterRows(array).map(([name, row]) => ({
    name,
    text: row.text,
    value: row.value === 'boolean' ? 'true' : '["|"]',
  }));
  const relations = relationRows(array).map(([name, row]) => ({
    name,
    text: `Includes: ${row.text}`,
    value: 'true',
  }));
  return [...filters, ...relations];
}

/** Returns the texts that a filter list may contain. */
export function suggestValues(path: Path): readonly string[] {
  const [array, , filter] = path;
  if (path.length === 1 && path[0] === 'type') return ['ledger', 'solana'];
  return array === 'logs' && filter === 'kind' ? [...LOG_KINDS] : [];
}
