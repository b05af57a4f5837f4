import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { CodedError } from '@sluice/base/errors';
import {
  ARROW_ADDRESSES,
  ARROW_STREAM_TYPE,
  ARROW_TABLE_NAMES,
  type ArrowAddresses,
  type ArrowTable,
} from '@sluice/protocol/arrow-table';
import Type from 'typebox';
import { arrowFields } from '../../engine/arrow-columns.ts';
import type { ArrowOutput, Query } from '../../query/query.ts';
import { selectTable } from '../../query/select-table.ts';
import { parseEncodingWeights } from '../negotiate-encoding.ts';
import { parseParameters } from '../routes/parse-parameters.ts';

const oneOf = (names: readonly string[]) => `^(${names.join('|')})$`;

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
};

/** The other type by which a client can request lines. */
const lineType = 'application/jsonl';

/** Returns the Arrow table that a request asks for, or undefined if it asks for lines, which is the default. */
export function parseOutput(
  accept: string | undefined,
  parameters: Readonly<Record<string, unknown>>,
): ArrowOutput | undefined {
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
}

const lines: OutputForm = { contentType: lineType, start: undefined, isArrow: false };

/** Returns the query whose pieces have the form, and the form. */
export function applyOutput(
  query: Query,
  arrow: ArrowOutput | undefined,
): { readonly query: Query; readonly form: OutputForm } {
  if (arrow === undefined) return { query, form: lines };
  const selected = selectTable(query, arrow);
  const start = encodeSchema(arrowFields(selected, arrow));
  return { query: selected, form: { contentType: ARROW_STREAM_TYPE, start, isArrow: true } };
}
