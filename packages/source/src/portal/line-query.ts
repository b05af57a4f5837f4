/** The queries to a portal. They select whole blocks: the counts of records, and all fields except derived ones. */
import {
  type FIELDS,
  type Kind,
  RECORD_ARRAY_NAMES,
  selectEveryField,
} from '@sluice/protocol/field-table';

/** Fields that are derived from others or have two names. */
const derived: { readonly [K in Kind]?: readonly string[] } = {
  block: ['parentNumber'],
  transaction: ['feePayer'],
  instruction: ['d1', 'd2', 'd4', 'd8', 'decoded'],
  log: ['decoded'],
  reward: ['pubKey'],
} satisfies { readonly [K in Kind]?: readonly (keyof (typeof FIELDS)[K])[] };

const select = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true]));

const storedFields = selectEveryField('ledger', (kind, name) => !derived[kind]?.includes(name));
const everyRecord = Object.fromEntries(RECORD_ARRAY_NAMES.map((array) => [array, [{}]]));
const headerFields = {
  block: select(['number', 'hash', 'parentSlot', 'parentHash', 'height', 'timestamp']),
};

export interface LineRange {
  readonly fromBlock: number;
  readonly toBlock?: number;
  readonly parentBlockHash?: string;
}

export function buildBlockQuery(range: LineRange): string {
  return JSON.stringify({
    ...range,
    includeAllBlocks: true,
    fields: storedFields,
    ...everyRecord,
  });
}

export function buildHeaderQuery(range: LineRange): string {
  return JSON.stringify({ ...range, includeAllBlocks: true, fields: headerFields });
}
