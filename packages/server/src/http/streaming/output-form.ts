import { type ArrowField, emptyColumn, usesDictionary } from '@sluice/arrow/arrow-type';
import { encodeBatch, encodeDictionary, encodeSchema } from '@sluice/arrow/ipc-messages';
import { CodedError } from '@sluice/base/errors';
import {
  type DecodedLayout,
  findDecodedLayout,
  type RequestedLayout,
} from '@sluice/decode/decoded-layout';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import {
  ARROW_ADDRESSES,
  ARROW_STREAM_TYPE,
  ARROW_TABLE_NAMES,
  type ArrowAddresses,
  type ArrowTable,
} from '@sluice/protocol/arrow-table';
import { CLOSING_KEY, type ClosingRecord } from '@sluice/protocol/closing-record';
import Type from 'typebox';
import { arrowFields } from '../../engine/arrow/arrow-columns.ts';
import type { ArrowOutput, Query } from '../../query/query.ts';
import { selectTable } from '../../query/select-table.ts';
import { parseEncodingWeights } from '../negotiate-encoding.ts';
import { parseParameters } from '../routes/parse-parameters.ts';

const oneOf = (names: readonly string[]) => `^(${names.join('|')})$`;

const layoutName = '^[1-9A-HJ-NP-Za-km-z]{32,44}\\.\\w{1,64}$';

/** The parameters of a stream, which only the output form Arrow has. */
export const STREAM_PARAMETERS = {
  table: Type.Unsafe<ArrowTable>(
    Type.String({
      pattern: oneOf(ARROW_TABLE_NAMES),
      description: `one of ${ARROW_TABLE_NAMES.join(', ')}`,
    }),
  ),
  addresses: Type.Unsafe<ArrowAddresses>(
    Type.String({
      pattern: oneOf(ARROW_ADDRESSES),
      description: `one of ${ARROW_ADDRESSES.join(', ')}`,
      default: 'text',
    }),
  ),
  decoded: Type.Optional(
    Type.String({
      pattern: layoutName,
      description:
        'PROGRAM.INSTRUCTION, with table=instructions, for columns with its arguments and accounts',
    }),
  ),
  event: Type.Optional(
    Type.String({
      pattern: layoutName,
      description:
        'PROGRAM.EVENT, with table=instructions, for a row for each such event that an instruction emitted',
    }),
  ),
  accounts: Type.Optional(
    Type.String({
      pattern: '^[^,]+(,[^,]+)*$',
      description:
        'with event: names of accounts of the instructions that emitted it, separated by commas, for columns with them',
    }),
  ),
  decimals: Type.Optional(
    Type.String({
      pattern: '^[^,]+(,[^,]+)*$',
      description:
        'with decoded or event: args.NAME or accounts.NAME, separated by commas, for columns with the decimals of these mints',
    }),
  ),
};

/** The parameters of every stream. */
export const CLOSING_PARAMETERS = {
  closing: Type.String({
    pattern: '^(true|false)$',
    default: 'false',
    description:
      'true, for a last record with what the response covered and why it ended; or false',
  }),
};

/** The other type by which a client can request lines. */
const lineType = 'application/jsonl';

/** The values of the parameters of an Arrow table. */
export interface RequestedTable extends Omit<ArrowOutput, 'decoded'>, RequestedLayout {}

/** What a request says about the form of its response. */
export interface RequestedOutput {
  /** Undefined if it asks for lines, which is the default. */
  readonly arrow: RequestedTable | undefined;
  readonly hasClosing: boolean;
}

export function parseOutput(
  accept: string | undefined,
  { closing, ...parameters }: Readonly<Record<string, unknown>>,
): RequestedOutput {
  const given = closing === undefined ? {} : { closing };
  const hasClosing = parseParameters(CLOSING_PARAMETERS, given).closing === 'true';
  return { arrow: parseArrow(accept, parameters), hasClosing };
}

function parseArrow(
  accept: string | undefined,
  parameters: Readonly<Record<string, unknown>>,
): RequestedTable | undefined {
  const weights = parseEncodingWeights(accept ?? '');
  const weight = weights.get(ARROW_STREAM_TYPE) ?? 0;
  if (weight > 0 && weight >= (weights.get(lineType) ?? 0))
    return parseParameters(STREAM_PARAMETERS, parameters);
  const path = Object.keys(STREAM_PARAMETERS).find((name) => Object.hasOwn(parameters, name));
  if (path === undefined) return undefined;
  const allowed = `only with the header Accept: ${ARROW_STREAM_TYPE}`;
  throw new CodedError('parameter-invalid', { path, allowed });
}

/** What a response has besides its pieces. */
export interface OutputForm {
  readonly contentType: string;
  /** Sent before the first piece. */
  readonly start: Uint8Array | undefined;
  readonly isArrow: boolean;
  /** Writes the closing record, if the client wants one. */
  readonly writeClosing: ((record: ClosingRecord) => Uint8Array) | undefined;
}

const lines: OutputForm = {
  contentType: lineType,
  start: undefined,
  isArrow: false,
  writeClosing: undefined,
};

function writeClosingLine(record: ClosingRecord): Uint8Array {
  return Buffer.from(`${JSON.stringify({ [CLOSING_KEY]: record })}\n`);
}

/** Returns an empty record batch whose metadata is the record. */
function writeClosingBatch(fields: readonly ArrowField[], record: ClosingRecord): Uint8Array {
  const columns = fields.map(({ type }) => emptyColumn(type));
  const dictionary = fields.some(usesDictionary)
    ? encodeDictionary(emptyColumn({ kind: 'utf8' }))
    : [];
  const metadata = [[CLOSING_KEY, JSON.stringify(record)]] as const;
  return Buffer.concat([...dictionary, ...encodeBatch(columns, 0, metadata)]);
}

/** Returns the instruction or event that a request wants columns of. */
function findDecoded(request: RequestedTable, idls: IdlRegistry): DecodedLayout | undefined {
  const found = findDecodedLayout(request, idls);
  if (found === undefined || request.table === 'instructions') return found;
  const path = found.isEvent ? 'event' : 'decoded';
  throw new CodedError('parameter-invalid', { path, allowed: 'only with table=instructions' });
}

/** Returns the query whose pieces have the form, and the form. */
export function applyOutput(
  query: Query,
  { arrow: table, hasClosing }: RequestedOutput,
  idls: IdlRegistry,
): { readonly query: Query; readonly form: OutputForm } {
  if (table === undefined)
    return { query, form: hasClosing ? { ...lines, writeClosing: writeClosingLine } : lines };
  const arrow = { ...table, decoded: findDecoded(table, idls) };
  const isDecoded = arrow.decoded !== undefined;
  const selected: Query = {
    ...selectTable(query, arrow),
    ...(isDecoded ? { idlVersion: idls.version } : {}),
  };
  const fields = arrowFields(selected, arrow);
  const writeClosing = hasClosing
    ? (record: ClosingRecord) => writeClosingBatch(fields, record)
    : undefined;
  const start = encodeSchema(fields);
  const form = { contentType: ARROW_STREAM_TYPE, start, isArrow: true, writeClosing };
  return { query: selected, form };
}
