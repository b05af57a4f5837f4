/**
 * The columns of an Arrow table, and how each is gathered from the columns of the selected rows. A field is read with the operands of its
 * step (`steps.ts`), as the writer of lines reads it.
 */
import type { ArrowField, ArrowType } from '@sluice/arrow/arrow-type';
import { assert } from '@sluice/base/assert';
import * as layout from '@sluice/kernels/layout/writing';
import { ARROW_TABLES, arrowColumnName, snakeCase } from '@sluice/protocol/arrow-table';
import {
  type FieldRow,
  fieldRows,
  RECORD_ARRAYS,
  type RecordKind,
} from '@sluice/protocol/field-table';
import type { ArrowOutput, Selection } from '../../query/query.ts';
import { STEPS, type Step, type StepOperands } from '../steps.ts';
import type { Pending } from './batch-memory.ts';
import type { GatheredRows } from './gathered-rows.ts';
import { typedFields } from './typed-columns.ts';

/** Some columns that are gathered together. */
export interface ArrowColumns {
  readonly fields: readonly ArrowField[];
  /** Reads the values of all rows. Returns a function for each column that returns its memory once the keys of all rows are known. */
  readonly gather: (rows: GatheredRows) => readonly Pending[];
}

const uint32: ArrowType = { kind: 'int', bits: 32, isSigned: false };
const int32: ArrowType = { kind: 'int', bits: 32, isSigned: true };
const uint64: ArrowType = { kind: 'int', bits: 64, isSigned: false };
const int64: ArrowType = { kind: 'int', bits: 64, isSigned: true };
const bool: ArrowType = { kind: 'bool' };
const utf8: ArrowType = { kind: 'utf8' };
const binary: ArrowType = { kind: 'binary' };
const timestamp: ArrowType = { kind: 'timestamp' };

const field = (name: string, type: ArrowType, isNullable = false): ArrowField => ({
  name,
  type,
  isNullable,
});
const listOf = (type: ArrowType): ArrowType => ({ kind: 'list', item: field('item', type) });

const addressType = ({ addresses }: ArrowOutput): ArrowType =>
  addresses === 'binary' ? { kind: 'fixedBinary', byteCount: 32 } : { kind: 'dictionary' };
const signatureType = ({ addresses }: ArrowOutput): ArrowType =>
  addresses === 'binary' ? { kind: 'fixedBinary', byteCount: 64 } : { kind: 'dictionary' };

/** Returns the columns of the table that a selection has as its output. Every table begins with the slot and the time of the block. */
export function arrowColumns(selection: Selection, arrow: ArrowOutput): readonly ArrowColumns[] {
  const array = ARROW_TABLES[arrow.table];
  const columns = blockColumns(selection, arrow);
  if (array === undefined) return columns;
  const kind = RECORD_ARRAYS[array];
  const names: readonly string[] = selection.fields[kind];
  for (const [name, row] of fieldRows(kind)) {
    if (!names.includes(name)) continue;
    // Rewards have the address under two names.
    if (name === 'pubkey' && names.includes('pubKey')) continue;
    columns.push(fieldColumns(kind, name, row, arrow));
  }
  const { decoded } = arrow;
  if (decoded !== undefined && kind === 'instruction')
    columns.push({
      fields: typedFields(decoded, addressType(arrow)),
      gather: (rows) => rows.typed(),
    });
  if (kind !== 'transaction' && selection.fields.transaction.includes('signatures'))
    columns.push(firstSignature(arrow));
  return columns;
}

/** Returns the fields of the table, for the schema. */
export function arrowFields(selection: Selection, arrow: ArrowOutput): readonly ArrowField[] {
  return arrowColumns(selection, arrow).flatMap(({ fields }) => fields);
}

function blockColumns(selection: Selection, arrow: ArrowOutput): ArrowColumns[] {
  const columns: ArrowColumns[] = [
    {
      fields: [field('block_slot', uint64)],
      gather: (rows) => [rows.blocks.longs((headers, block) => headers.numberAt(block))],
    },
    {
      fields: [field('block_time', timestamp, true)],
      gather: (rows) => [rows.blocks.longs((headers, block) => headers.timestampAt(block))],
    },
  ];
  const names = selection.fields.block;
  const add = (name: string, type: ArrowType, gather: (rows: GatheredRows) => Pending) =>
    columns.push({
      fields: [field(arrowColumnName('block', name), type, true)],
      gather: (rows) => [gather(rows)],
    });
  if (names.includes('hash'))
    add('hash', addressType(arrow), (rows) =>
      rows.blocks.hashes((headers, block) => headers.hashAt(block)),
    );
  if (names.includes('parentSlot') || names.includes('parentNumber'))
    add('parentSlot', uint64, (rows) =>
      rows.blocks.longs((headers, block) => headers.parentSlotAt(block)),
    );
  if (names.includes('parentHash'))
    add('parentHash', addressType(arrow), (rows) => rows.blocks.parentHashes());
  if (names.includes('height'))
    add('height', uint64, (rows) => rows.blocks.longs((headers, block) => headers.heightAt(block)));
  if (names.includes('recordCounts') && arrow.table === 'blocks') columns.push(recordCounts);
  return columns;
}

const recordCounts: ArrowColumns = {
  fields: Object.values(RECORD_ARRAYS).map((kind) => field(`${snakeCase(kind)}_count`, uint64)),
  gather: (rows) => rows.blocks.recordCounts(),
};

function firstSignature(arrow: ArrowOutput): ArrowColumns {
  return {
    fields: [field('signature', signatureType(arrow), true)],
    gather: (rows) => [rows.signatures.first()],
  };
}

/** The columns of one field. Most fields have one. */
function fieldColumns(
  kind: RecordKind,
  name: string,
  row: FieldRow,
  arrow: ArrowOutput,
): ArrowColumns {
  const step = STEPS[kind][name];
  assert(step !== undefined, 'every field of a record has a step');
  const column = arrowColumnName(kind, name);
  const columnOf = (
    type: ArrowType,
    isNullable: boolean,
    gather: (rows: GatheredRows, operands: StepOperands) => Pending,
  ): ArrowColumns => ({
    fields: [field(column, type, isNullable)],
    gather: (rows) => [gather(rows, rows.bind(step))],
  });
  switch (row.wire) {
    case 'signatures':
      return {
        fields: [...firstSignature(arrow).fields, field(column, listOf(signatureType(arrow)))],
        gather: (rows) => [rows.signatures.first(), rows.signatures.all()],
      };
    case 'loadedAddresses':
      return {
        fields: ['writable', 'readonly'].map((part) =>
          field(`${column}_${part}`, listOf(addressType(arrow))),
        ),
        gather: (rows) => rows.keys.loaded(),
      };
    case 'addressTableLookups':
      return columnOf(lookupType(arrow), false, (rows) => rows.lookups());
    case 'path':
      return columnOf(listOf(uint32), false, (rows, p) =>
        step.code === layout.STEP_RAW_TEXT ? rows.paths(p) : rows.pathsOfLogs(p),
      );
    case 'text':
      return step.code === layout.STEP_TEXT
        ? columnOf(utf8, false, (rows, p) => rows.escapedTexts(p))
        : columnOf(utf8, true, (rows, p) => rows.codedTexts(p, true));
    default:
      return valueColumn(row, step, arrow, columnOf);
  }
}

type BuildColumn = (
  type: ArrowType,
  isNullable: boolean,
  gather: (rows: GatheredRows, operands: StepOperands) => Pending,
) => ArrowColumns;

function valueColumn(
  { wire }: FieldRow,
  { code }: Step,
  arrow: ArrowOutput,
  columnOf: BuildColumn,
): ArrowColumns {
  switch (code) {
    case layout.STEP_UINT:
      return columnOf(uint32, false, (rows, p) => rows.ints(p));
    case layout.STEP_TRANSACTION_UINT:
      return columnOf(uint32, false, (rows, p) => rows.transactionInts(p));
    case layout.STEP_UINT_OR_NULL:
      return columnOf(uint32, true, (rows, p) => rows.intsOrNull(p));
    case layout.STEP_VERSION:
      return columnOf(int32, false, (rows, p) => rows.ints(p, -1));
    case layout.STEP_ULONG:
      return columnOf(uint64, true, (rows, p) => rows.longs(p));
    case layout.STEP_LONG:
      return columnOf(int64, false, (rows, p) => rows.longs(p));
    case layout.STEP_KEY:
      return columnOf(addressType(arrow), false, (rows, p) => rows.keys.ofPositions(p));
    case layout.STEP_KEY_OR_NULL:
      return columnOf(addressType(arrow), true, (rows, p) => rows.keys.orNull(p));
    case layout.STEP_PAYER:
      return columnOf(addressType(arrow), true, (rows, p) => rows.keys.payers(p));
    case layout.STEP_KEY_ID:
      return columnOf(addressType(arrow), false, (rows, p) => rows.keys.ofIds(p));
    case layout.STEP_KEYS:
      return columnOf(listOf(addressType(arrow)), false, (rows, p) => rows.keys.lists(p));
    case layout.STEP_STATIC_KEYS:
      return columnOf(listOf(addressType(arrow)), false, (rows) => rows.keys.statics());
    case layout.STEP_FLAG:
      return columnOf(bool, false, (rows, p) => rows.flags(p));
    case layout.STEP_COMMITTED:
      return columnOf(bool, true, (rows, p) => rows.outcomes(p));
    case layout.STEP_HEX:
      return columnOf(utf8, true, (rows, p) => rows.hex(p));
    case layout.STEP_DATA:
      return columnOf(binary, false, (rows, p) => rows.bytes(p));
    case layout.STEP_LOG_KIND:
      return columnOf(utf8, false, (rows, p) => rows.logKinds(p));
    case layout.STEP_CODED_TEXT:
      return columnOf(utf8, true, (rows, p) => rows.codedTexts(p, false));
    default:
      assert(wire === 'decoded', 'every step of a field has a column');
      return columnOf(utf8, true, (rows, p) => rows.bytes(p, true));
  }
}

function lookupType(arrow: ArrowOutput): ArrowType {
  return listOf({
    kind: 'struct',
    fields: [
      field('account_key', addressType(arrow)),
      field('readonly_indexes', listOf(uint32)),
      field('writable_indexes', listOf(uint32)),
    ],
  });
}
