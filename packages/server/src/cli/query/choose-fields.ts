/** The fields of a query that is built from flags. */

import { CodedError } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import {
  defaultFieldNames,
  FIELDS,
  fieldNames,
  KINDS,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
} from '@sluice/protocol/field-table';
import type { FieldsBody, ItemsBody } from '@sluice/protocol/query-body';
import { relationRows } from '@sluice/protocol/request-table';
import { entriesOf } from '@sluice/protocol/typed-keys';
import { memberOf } from '@sluice/protocol/unknown-value';
import { columnKinds, type RowKind } from './record-rows.ts';

type Fields = Partial<Record<Kind, Record<string, boolean>>>;

/** Every header has the slot and the hash, which are needed to resume, and the time. */
const headerFields = { number: true, hash: true, timestamp: true };

/** All fields of the kinds of records that the items can return, except those marked (ext). */
export function defaultFields(items: ItemsBody): FieldsBody {
  const fields: Fields = { block: { ...headerFields } };
  for (const kind of kindsOf(items)) {
    const names = defaultFieldNames(kind, 'ledger');
    fields[kind] = Object.fromEntries(names.map((name) => [name, true]));
  }
  return fields;
}

/** The most useful fields for a table, because the width of a terminal is limited. */
const tableFields: Omit<Fields, 'block'> = {
  transaction: { transactionIndex: true, signatures: true, feePayer: true, fee: true, err: true },
  instruction: {
    ...{ transactionIndex: true, instructionAddress: true, programId: true, d8: true },
    ...{ isCommitted: true, error: true },
  },
  log: { transactionIndex: true, logIndex: true, programId: true, message: true },
  balance: { transactionIndex: true, account: true, pre: true, post: true },
  tokenBalance: {
    ...{ transactionIndex: true, account: true, postMint: true, postOwner: true },
    ...{ preAmount: true, postAmount: true },
  },
  reward: { pubKey: true, lamports: true, postBalance: true, rewardType: true, commission: true },
};

/** Returns the fields of a table that fits a terminal. A record has the signature if the query includes its transaction. */
export function fieldsForTable(items: ItemsBody, kind: RowKind): FieldsBody {
  if (kind === 'blocks') return { block: headerFields };
  const recordKind = RECORD_ARRAYS[kind];
  const hasSignature = recordKind !== 'transaction' && kindsOf(items).includes('transaction');
  return {
    block: { number: true },
    [recordKind]: tableFields[recordKind],
    ...(hasSignature ? { transaction: { signatures: true } } : {}),
  };
}

/** Returns all fields of the records, the time of the block, and the signature of the transaction. */
export function fieldsForCsv(items: ItemsBody, kind: RowKind): FieldsBody {
  if (kind === 'blocks') return { block: headerFields };
  const fields = { ...defaultFields(items), block: { number: true, timestamp: true } };
  const isPart = columnKinds(kind).includes('transaction');
  return isPart ? { transaction: { signatures: true }, ...fields } : fields;
}

export function itemsOf(query: ItemsBody): ItemsBody {
  const named = RECORD_ARRAY_NAMES.filter((array) => query[array] !== undefined);
  return Object.fromEntries(named.map((array) => [array, query[array]]));
}

/** Returns the kinds of records that the items match and include. */
export function kindsOf(items: ItemsBody): readonly Kind[] {
  const arrays = entriesOf(items).flatMap(([array, list = []]) => {
    const relations = relationRows(array).filter(([name]) =>
      list.some((item) => memberOf(item, name) === true),
    );
    return [array, ...relations.map(([, { brings }]) => brings)];
  });
  return [...new Set(arrays)].map((array) => RECORD_ARRAYS[array]);
}

/** Parses `instruction.data,transaction.feePayer,block.timestamp`. A kind without a field means all its fields. */
export function parseFields(list: readonly string[]): FieldsBody {
  const fields: Fields = {};
  for (const text of list) {
    const [kindText = '', name, ...more] = text.split('.');
    const kind = KINDS.find((known) => known === kindText);
    if (kind === undefined) throw refuse(text, kindText, KINDS);
    const names: readonly string[] = fieldNames(kind, 'ledger');
    const chosen = name === undefined ? Object.keys(FIELDS[kind]) : [name];
    if (more.length > 0 || !chosen.every((field) => names.includes(field))) {
      throw refuse(text, name ?? '', names);
    }
    fields[kind] = { ...fields[kind], ...Object.fromEntries(chosen.map((field) => [field, true])) };
  }
  return fields;
}

function refuse(found: string, name: string, known: readonly string[]): CodedError {
  const nearest = findNearestName(name, known);
  return new CodedError('cli-usage', {
    option: '--fields',
    found,
    ...(nearest === undefined ? {} : { nearest }),
    allowed: known.join(', '),
  });
}
