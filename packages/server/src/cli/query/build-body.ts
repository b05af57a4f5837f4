import { CodedError } from '@sluice/base/errors';
import type { QueryBody } from '@sluice/protocol/query-body';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { keysOf } from '@sluice/protocol/typed-keys';
import { messageOf } from '@sluice/protocol/unknown-value';
import { readSmallFile } from '../../storage/read-small-file.ts';
import { naming } from '../metered-file.ts';
import {
  defaultFields,
  fieldsForCsv,
  fieldsForTable,
  itemsOf,
  parseFields,
} from './choose-fields.ts';
import { buildItems, type FilterFlags } from './query-flags.ts';
import type { Output, QueryOptions } from './query-options.ts';
import {
  addParents,
  chooseKind,
  columnKinds,
  createRowSource,
  type RowSource,
} from './record-rows.ts';

export type QueryDraft = Omit<QueryBody, 'fromBlock'> & { readonly fromBlock?: number };

const filterNames: readonly (keyof FilterFlags)[] = [
  'program',
  'name',
  'd1',
  'd8',
  'account',
  'mint',
  'owner',
  'feePayer',
  'logs',
  'with',
];

export interface BuiltQuery {
  readonly draft: QueryDraft;
  /** The rows of a table or a CSV file; undefined if the output is JSON. */
  readonly rows: RowSource | undefined;
}

/** Returns the query of a file or of stdin, or the query that the flags describe, with the fields that the output needs. */
export async function buildDraft(
  options: QueryOptions,
  { stdin, output }: { readonly stdin: NodeJS.ReadableStream; readonly output: Output },
): Promise<BuiltQuery> {
  const draft = addDecoded(await readDraft(options, stdin), options, output);
  if (output === 'table' || output === 'csv') return buildRows(draft, options, output);
  const isFromFile = options.query !== undefined && options.fields === undefined;
  if (isFromFile) return { draft, rows: undefined };
  const fields = draft.fields ?? defaultFields(itemsOf(draft));
  // Every line has the hash of its block, which is needed to resume.
  const block = { ...fields.block, number: true, hash: true };
  return { draft: { ...draft, fields: { ...fields, block } }, rows: undefined };
}

/** Adds the decoded form to the fields of instructions and logs that the query or the output selects. */
function addDecoded(draft: QueryDraft, { decode, kind }: QueryOptions, output: Output): QueryDraft {
  if (decode !== true) return draft;
  const items = itemsOf(draft);
  const isTable = output === 'table';
  const fields =
    draft.fields ??
    (isTable ? fieldsForTable(items, kind ?? chooseKind(draft)) : defaultFields(items));
  const { instruction, log } = fields;
  return {
    ...draft,
    fields: {
      ...fields,
      ...(instruction === undefined ? {} : { instruction: { ...instruction, decoded: true } }),
      ...(log === undefined ? {} : { log: { ...log, decoded: true } }),
    },
  };
}

async function readDraft(options: QueryOptions, stdin: NodeJS.ReadableStream): Promise<QueryDraft> {
  const fields = options.fields === undefined ? {} : { fields: parseFields(options.fields) };
  const { query: file } = options;
  if (file === undefined) return { ...buildFromFlags(options), ...fields };
  const given = filterNames.find((name) => options[name] !== undefined);
  if (given !== undefined) {
    throw new CodedError('cli-usage', {
      option: '--query',
      fault: `cannot be combined with --${given}`,
    });
  }
  const read = file === '-' ? parse(await readBounded(stdin), '-') : readFile(file);
  return { ...read, ...fields };
}

/** Without a filter the query returns all records of `--kind`, or the headers of all blocks. */
function buildFromFlags(options: QueryOptions): QueryDraft {
  const items = buildItems(options);
  if (Object.keys(items).length > 0) return items;
  const { kind = 'blocks' } = options;
  return kind === 'blocks' ? { includeAllBlocks: true } : { [kind]: [{}] };
}

/** Rejects fields that cannot be columns, unless `--kind` says which of the query's records to show. */
function buildRows(draft: QueryDraft, options: QueryOptions, output: 'table' | 'csv'): BuiltQuery {
  const kind = options.kind ?? chooseKind(draft);
  const fieldsDefault = output === 'csv' ? fieldsForCsv : fieldsForTable;
  const selected = { ...draft, fields: draft.fields ?? fieldsDefault(itemsOf(draft), kind) };
  const isStrict = options.fields !== undefined || (output === 'csv' && options.kind === undefined);
  const kinds = columnKinds(kind);
  const lost = keysOf(selected.fields).find((name) => !kinds.includes(name));
  if (isStrict && lost !== undefined) {
    throw new CodedError('cli-usage', {
      option: options.fields === undefined ? '--output csv' : '--fields',
      fault: `rows of ${kind} have no columns for fields of the kind ${lost}; choose the rows with --kind, or use --output jsonl`,
    });
  }
  return { draft: addParents(selected, kind), rows: createRowSource(selected, kind) };
}

async function readBounded(stdin: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > QUERY_LIMITS.bodyBytesMax) {
      throw new CodedError('cli-file-too-large', {
        path: '-',
        bytesMax: QUERY_LIMITS.bodyBytesMax,
      });
    }
  }
  return Buffer.concat(chunks).toString();
}

function readFile(file: string): QueryDraft {
  return naming(file, () => parse(readSmallFile(file, QUERY_LIMITS.bodyBytesMax).toString(), file));
}

/** The service checks the content of the query and reports the path of an invalid value. */
function parse(source: string, file: string): QueryDraft {
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw notJson(file, error);
  }
  throw new CodedError('query-value-invalid', { file, allowed: 'a JSON object' });
}

function notJson(file: string, cause: unknown): CodedError {
  return new CodedError('query-not-json', { file, fault: messageOf(cause) }, { cause });
}
