import type { QueryBody } from '@sluice/protocol/query-body';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { messageOf } from '@sluice/protocol/unknown-value';
import { CodedError } from '../../base/errors.ts';
import { readSmallFile } from '../../storage/read-small-file.ts';
import { naming } from '../metered-file.ts';
import { defaultFields, fieldsForTable, parseFields } from './choose-fields.ts';
import { buildItems, type FilterFlags } from './query-flags.ts';
import type { QueryOptions } from './query-options.ts';

/** A query without its range. */
export type QueryDraft = Omit<QueryBody, 'fromBlock'> & { readonly fromBlock?: number };

const filterNames: readonly (keyof FilterFlags)[] = [
  'program',
  'd1',
  'd8',
  'account',
  'mint',
  'owner',
  'feePayer',
  'logs',
  'with',
];

/** Returns the query of a file or of stdin, or the query that the flags describe. Both together are an error. */
export async function buildDraft(
  options: QueryOptions,
  { stdin, isTable }: { readonly stdin: NodeJS.ReadableStream; readonly isTable: boolean },
): Promise<QueryDraft> {
  const { query: file, fields } = options;
  if (file === undefined) return buildFromFlags(options, isTable);
  const given = filterNames.find((name) => options[name] !== undefined);
  if (given !== undefined) {
    throw new CodedError('cli-usage', {
      option: '--query',
      fault: `cannot be combined with --${given}`,
    });
  }
  const read = file === '-' ? parse(await readBounded(stdin), '-') : readFile(file);
  return fields === undefined ? read : { ...read, fields: parseFields(fields) };
}

/** Without a filter the query returns the headers of all blocks. */
function buildFromFlags(options: QueryOptions, isTable: boolean): QueryDraft {
  const items = buildItems(options);
  const isUnfiltered = Object.keys(items).length === 0;
  const chooseFields = isTable ? fieldsForTable : defaultFields;
  return {
    ...(isUnfiltered ? { includeAllBlocks: true } : {}),
    fields: options.fields === undefined ? chooseFields(items) : parseFields(options.fields),
    ...items,
  };
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
