/** Converts a query to request bodies. The client adds the fields that it needs to resume. */
import { DIALECT_DEFAULT, type Dialect } from '@sluice/protocol/dialect';
import { defaultFieldNames, KINDS } from '@sluice/protocol/field-table';
import type { FieldsBody } from '@sluice/protocol/query-body';
import { SluiceError } from '../base/sluice-error.ts';
import { buildBlockParser, type ParseLine } from './block-parser.ts';
import type { Query } from './query-types.ts';

export interface QueryPlan {
  readonly dialect: Dialect;
  readonly fromBlock: number;
  /** The last slot; `undefined` to follow the ledger. */
  readonly toBlock: number | undefined;
  readonly parentBlockHash: string | undefined;
  readonly parse: ParseLine;
  /** Whether headers have the finalized head only because the client selected it. */
  readonly addsFinalizedHead: boolean;
  body(request: BodyRequest): string;
}

export interface BodyRequest {
  readonly fromBlock: number;
  readonly parentBlockHash: string | undefined;
  /** Whether to select the finalized head in every header, which not every service supports. */
  readonly withFinalizedHead: boolean;
}

/** A field that not every service has. It is selected in the default dialect, and not at services that refuse it. */
export const finalizedHeadField = 'finalizedHead';

export function planQuery(query: Query): QueryPlan {
  const { fromBlock, toBlock, parentBlockHash, ...rest } = query;
  checkNumber('fromBlock', fromBlock);
  if (toBlock !== undefined && toBlock !== null) checkNumber('toBlock', toBlock);
  const dialect = query.type ?? DIALECT_DEFAULT;
  const fields = completeFields(query.fields, dialect);
  const block: Readonly<Record<string, boolean | undefined>> = fields.block ?? {};
  return {
    dialect,
    fromBlock,
    toBlock: toBlock ?? undefined,
    parentBlockHash: parentBlockHash ?? undefined,
    parse: buildBlockParser(fields),
    addsFinalizedHead: dialect === DIALECT_DEFAULT && block[finalizedHeadField] !== true,
    body: ({ withFinalizedHead, ...position }) => {
      const isAdded = withFinalizedHead && dialect === DIALECT_DEFAULT;
      const sent = isAdded
        ? { ...fields, block: { ...block, [finalizedHeadField]: true } }
        : fields;
      return JSON.stringify({
        ...rest,
        fromBlock: position.fromBlock,
        toBlock,
        parentBlockHash: position.parentBlockHash,
        fields: sent,
      });
    },
  };
}

/** Returns the fields of a query, by default those that the service sends by default, with the number and the hash. */
function completeFields(fields: FieldsBody | undefined, dialect: Dialect): FieldsBody {
  const chosen = fields ?? defaultFields(dialect);
  return { ...chosen, block: { ...chosen.block, number: true, hash: true } };
}

function defaultFields(dialect: Dialect): FieldsBody {
  return Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      Object.fromEntries(defaultFieldNames(kind, dialect).map((name) => [name, true])),
    ]),
  );
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return;
  throw new SluiceError('option-invalid', {
    detail: `${name} is ${String(value)}, not a whole number from 0`,
  });
}
