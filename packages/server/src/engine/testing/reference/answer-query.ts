/**
 * The reference engine. It defines the exact bytes of every answer, in the simplest possible code. Tests compare the engine with it;
 * production does not use it.
 */
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { Block } from '@sluice/ledger/block';
import type { FieldName, RecordKind } from '@sluice/protocol/field-table';
import type { Query, Selection } from '../../../query/query.ts';
import { type SelectedRecords, selectRecords } from './select-records.ts';
import { writeRecord } from './write-record.ts';

const builtin = new IdlRegistry();

/** Returns the lines of the blocks in the query's range. The last block always gets a line, which shows how far the answer went. */
export function answerQuery(
  query: Query,
  blocks: readonly Block[],
  idls: IdlRegistry = builtin,
): string {
  const covered = blocks.filter(
    ({ header }) =>
      header.number >= query.fromBlock && header.number <= (query.toBlock ?? Infinity),
  );
  const last = covered.at(-1);
  return covered
    .map(
      (block) =>
        answerBlock(query, block, idls) ?? (block === last ? headerLine(query, block) : ''),
    )
    .join('');
}

/** Returns the line of one block with its line feed, or `undefined` if nothing is selected and the query does not include all blocks. */
export function answerBlock(
  selection: Selection,
  block: Block,
  idls: IdlRegistry = builtin,
): string | undefined {
  const selected = selectRecords(selection, block);
  const arrays = writeArrays(selection, selected, { block, idls });
  if (arrays === '' && !selection.includeAllBlocks) return undefined;
  return `{"header":${writeHeader(selection, block)}${arrays}}\n`;
}

/** Returns the line that only reports that the block was covered. */
export function headerLine(selection: Selection, block: Block): string {
  return `{"header":${writeHeader(selection, block)}}\n`;
}

function writeHeader({ fields, dialect }: Selection, block: Block): string {
  return writeRecord('block', block, { fields: fields.block, dialect, block, idls: builtin });
}

function writeArrays(
  selection: Selection,
  selected: SelectedRecords,
  { block, idls }: { readonly block: Block; readonly idls: IdlRegistry },
): string {
  const { fields, dialect } = selection;
  const write =
    <K extends RecordKind>(kind: K, names: readonly FieldName<K>[]) =>
    (record: Parameters<typeof writeRecord<K>>[1]) =>
      writeRecord(kind, record, { fields: names, dialect, block, idls });
  // A block's records are in wire order already, so no sorting is needed.
  const texts = {
    transactions: block.transactions
      .filter((record) => selected.transactions.has(record))
      .map(write('transaction', fields.transaction)),
    instructions: block.instructions
      .filter((record) => selected.instructions.has(record))
      .map(write('instruction', fields.instruction)),
    logs: block.logs.filter((record) => selected.logs.has(record)).map(write('log', fields.log)),
    balances: block.balances
      .filter((record) => selected.balances.has(record))
      .map(write('balance', fields.balance)),
    tokenBalances: block.tokenBalances
      .filter((record) => selected.tokenBalances.has(record))
      .map(write('tokenBalance', fields.tokenBalance)),
    rewards: block.rewards
      .filter((record) => selected.rewards.has(record))
      .map(write('reward', fields.reward)),
  };
  return Object.entries(texts)
    .filter(([, records]) => records.length > 0)
    .map(([array, records]) => `,"${array}":[${records.join()}]`)
    .join('');
}
