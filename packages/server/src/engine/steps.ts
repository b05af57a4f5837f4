/**
 * How each field is written: the step of the kernel, and the columns that the step reads. `kernels/assembly/engine/write-values.ts` says
 * what the operands of each step mean.
 */

import { assert } from '@sluice/base/assert';
import { INS_FLAGS_DROPPED_LOGS } from '@sluice/kernels/layout/columns';
import * as layout from '@sluice/kernels/layout/writing';
import type { Dialect } from '@sluice/protocol/dialect';
import {
  type FieldName,
  type FieldRow,
  fieldRows,
  type RecordKind,
} from '@sluice/protocol/field-table';
import { keysOf, mapKeys } from '@sluice/protocol/typed-keys';
import {
  type ColumnField,
  type ColumnName,
  FIELD_COLUMNS,
  type FieldColumn,
} from '../segment/layout/columns.ts';
import type { ColumnReader, MadeColumn } from './make-column.ts';

const CODE = {
  uint: layout.STEP_UINT,
  ulong: layout.STEP_ULONG,
  long: layout.STEP_LONG,
  key: layout.STEP_KEY,
  keyOrNull: layout.STEP_KEY_OR_NULL,
  keys: layout.STEP_KEYS,
  staticKeys: layout.STEP_STATIC_KEYS,
  text: layout.STEP_TEXT,
  codedText: layout.STEP_CODED_TEXT,
  hex: layout.STEP_HEX,
  rawText: layout.STEP_RAW_TEXT,
  flag: layout.STEP_FLAG,
  committed: layout.STEP_COMMITTED,
  version: layout.STEP_VERSION,
  signatures: layout.STEP_SIGNATURES,
  lookups: layout.STEP_LOOKUPS,
  loaded: layout.STEP_LOADED,
  payer: layout.STEP_PAYER,
  logKind: layout.STEP_LOG_KIND,
  uintOrNull: layout.STEP_UINT_OR_NULL,
  keyId: layout.STEP_KEY_ID,
  transactionUint: layout.STEP_TRANSACTION_UINT,
  instructionText: layout.STEP_INSTRUCTION_TEXT,
  data: layout.STEP_DATA,
} as const;

/** The kinds of records that have the field `decoded`. */
export type DecodedArray = 'instructions' | 'logs';

export interface StepOperands {
  readonly p0: number;
  readonly w0: number;
  readonly p1?: number;
  readonly w1?: number;
  readonly p2?: number;
  readonly p3?: number;
}

export interface Step {
  readonly code: number;
  /** Loads the columns of the step and returns its operands. */
  readonly bind: (group: ColumnReader, context: StepContext) => StepOperands;
}

export interface StepContext {
  readonly dialect: Dialect;
  /** The address of 32 bytes for the table of the step that writes address lookups. */
  readonly lookupTable: number;
  /** Prepares decoding the selected rows and returns the operands of the step. */
  readonly decode: (array: DecodedArray) => StepOperands;
  readonly setInt: (address: number, value: number) => void;
}

const stored = (code: number, name: ColumnName): Step => ({
  code,
  bind: (g) => {
    const { at, width } = g.stored(name);
    return { p0: at, w0: width, w1: 1 };
  },
});

const made = (code: number, name: MadeColumn): Step => ({
  code,
  bind: (g) => {
    const { at, width } = g.made(name);
    return { p0: at, w0: width, w1: 1 };
  },
});

const inQuotes = ({ dialect }: StepContext): number => (dialect === 'solana' ? 1 : 0);

const none = { at: 0, width: 0 };

/** A 64-bit quantity, optionally with a column of null flags. */
function quantity(
  load: (g: ColumnReader) => { at: number; width: number },
  nullName?: ColumnName,
): Step {
  return {
    code: CODE.ulong,
    bind: (g, context) => {
      const { at, width } = load(g);
      const nulls = nullName === undefined ? none : g.stored(nullName);
      return { p0: at, w0: width, p1: nulls.at, p2: 1, p3: nulls.width, w1: inQuotes(context) };
    },
  };
}

/** An amount of a token balance. `nullBit` selects its null flag. */
const tokenAmount = (
  load: (g: ColumnReader) => { at: number; width: number },
  nullBit: number,
): Step => ({
  code: CODE.ulong,
  bind: (g, context) => {
    const { at, width } = load(g);
    const nulls = g.stored('tokAmountNull');
    return { p0: at, w0: width, p1: nulls.at, p2: nullBit, p3: nulls.width, w1: inQuotes(context) };
  },
});

const flag = (name: ColumnName, bit: number): Step => ({
  code: CODE.flag,
  bind: (g) => ({ p0: g.stored(name).at, w0: g.stored(name).width, p2: bit }),
});

const hex = (byteCount: number): Step => ({
  code: CODE.hex,
  bind: (g) => ({
    p0: g.stored('insData').at,
    w0: 1,
    p1: g.made('dataStarts').at,
    p2: byteCount,
  }),
});

const codedText = (name: ColumnName): Step => ({
  code: CODE.codedText,
  bind: (g) => {
    const codes = g.stored(name);
    return {
      p0: codes.at,
      w0: codes.width,
      p1: g.made('textStarts').at,
      p2: g.stored('textBytes').at,
    };
  },
});

const decoded = (array: DecodedArray): Step => ({
  code: layout.STEP_DECODED,
  bind: (_, context) => context.decode(array),
});

const transactionIndex: Step = stored(CODE.transactionUint, 'txIndex');

const loadedAddresses: Step = {
  code: CODE.loaded,
  bind: (g) => {
    const staticCounts = g.stored('txStaticCount');
    const writable = g.stored('txWritableCount');
    const readonly = g.stored('txReadonlyCount');
    return {
      p0: staticCounts.at,
      w0: staticCounts.width,
      p1: writable.at,
      w1: writable.width,
      p2: readonly.at,
      p3: readonly.width,
    };
  },
};

const lookups: Step = {
  code: CODE.lookups,
  bind: (g, { lookupTable, setInt }) => {
    const key = g.stored('lookupKey');
    const readonlyCounts = g.stored('lookupReadonlyCount');
    const indexStarts = g.made('lookupIndexStarts');
    const indexes = g.stored('lookupIndexes');
    const starts = g.made('lookupStarts').at;
    const set = (offset: number, value: number) => setInt(lookupTable + offset, value);
    set(layout.LOOKUPS_KEYS, key.at);
    set(layout.LOOKUPS_KEY_WIDTH, key.width);
    set(layout.LOOKUPS_READONLY_COUNTS, readonlyCounts.at);
    set(layout.LOOKUPS_READONLY_WIDTH, readonlyCounts.width);
    set(layout.LOOKUPS_INDEX_STARTS, indexStarts.at);
    set(layout.LOOKUPS_INDEXES, indexes.at);
    set(layout.LOOKUPS_INDEX_WIDTH, indexes.width);
    return { p0: starts, w0: 4, p1: lookupTable };
  },
};

/** Values of variable length: a column of bytes and a column of starts. */
const ranges = (code: number, name: ColumnName, starts: MadeColumn): Step => ({
  code,
  bind: (g) => ({ p0: g.stored(name).at, w0: 1, p1: g.made(starts).at }),
});

/** The step of a field that has a column of its own, by its type on the wire. */
function columnStep({ wire, nullable }: FieldRow, { column, nulls }: FieldColumn): Step {
  switch (wire) {
    case 'quantity':
      return quantity((g) => g.stored(column), nulls);
    case 'boolean':
      return flag(column, 1);
    case 'text':
    case 'errorObject':
      return codedText(column);
    case 'logKind':
      return stored(CODE.logKind, column);
    case 'address':
    case 'hash':
      return stored(nullable === true ? CODE.keyOrNull : CODE.key, column);
    default:
      assert(wire === 'integer', 'the column of a field holds a value that one step can write');
      return stored(nullable === true ? CODE.uintOrNull : CODE.uint, column);
  }
}

function columnSteps(kind: RecordKind): Record<string, Step> {
  const columns: Readonly<Partial<Record<string, FieldColumn>>> = FIELD_COLUMNS[kind];
  const steps: Record<string, Step> = {};
  for (const [name, row] of fieldRows(kind)) {
    const column = columns[name];
    if (column !== undefined) steps[name] = columnStep(row, column);
  }
  return steps;
}

const OTHER_STEPS: {
  readonly [K in RecordKind]: Readonly<Record<Exclude<FieldName<K>, ColumnField<K>>, Step>>;
} = {
  transaction: {
    transactionIndex,
    version: {
      code: CODE.version,
      bind: (g, context) => ({
        p0: g.stored('txVersion').at,
        w0: g.stored('txVersion').width,
        w1: inQuotes(context),
      }),
    },
    accountKeys: stored(CODE.staticKeys, 'txStaticCount'),
    addressTableLookups: lookups,
    signatures: {
      code: CODE.signatures,
      bind: (g) => {
        const { at } = g.stored('txSignatures');
        return { p0: at, w0: 1, p2: g.made('signatureStarts').at };
      },
    },
    loadedAddresses,
    feePayer: stored(CODE.payer, 'txStaticCount'),
  },
  instruction: {
    transactionIndex,
    instructionAddress: {
      code: CODE.rawText,
      bind: (g) => ({ p0: g.made('addressTexts').at, w0: 1, p1: g.made('addressTextStarts').at }),
    },
    accounts: {
      code: CODE.keys,
      bind: (g) => {
        const { at, width } = g.stored('insAccounts');
        return { p0: at, w0: width, p1: g.made('accountStarts').at };
      },
    },
    data: ranges(CODE.data, 'insData', 'dataStarts'),
    d1: hex(1),
    d2: hex(2),
    d4: hex(4),
    d8: hex(8),
    isCommitted: stored(CODE.committed, 'insFlags'),
    hasDroppedLogMessages: flag('insFlags', INS_FLAGS_DROPPED_LOGS),
    decoded: decoded('instructions'),
  },
  log: {
    transactionIndex,
    logIndex: made(CODE.uint, 'logIndexes'),
    instructionAddress: {
      code: CODE.instructionText,
      bind: (g) => {
        const rows = g.stored('logInstruction');
        const texts = g.made('addressTexts').at;
        return {
          p0: rows.at,
          w0: rows.width,
          p1: g.made('addressTextStarts').at,
          p2: g.made('instructionStarts').at,
          p3: texts,
        };
      },
    },
    message: ranges(CODE.text, 'logText', 'messageStarts'),
    decoded: decoded('logs'),
  },
  balance: { transactionIndex, post: quantity((g) => g.made('balancePost')) },
  tokenBalance: {
    transactionIndex,
    preMint: stored(CODE.keyOrNull, 'tokPreMint'),
    postMint: made(CODE.keyOrNull, 'tokenPostMint'),
    preDecimals: stored(CODE.uintOrNull, 'tokPreDecimals'),
    postDecimals: made(CODE.uintOrNull, 'tokenPostDecimals'),
    preProgramId: stored(CODE.keyOrNull, 'tokPreProgram'),
    postProgramId: made(CODE.keyOrNull, 'tokenPostProgram'),
    preOwner: stored(CODE.keyOrNull, 'tokPreOwner'),
    postOwner: made(CODE.keyOrNull, 'tokenPostOwner'),
    preAmount: tokenAmount((g) => g.stored('tokPreAmount'), 1),
    postAmount: tokenAmount((g) => g.made('tokenPostAmount'), 2),
  },
  reward: {
    pubKey: stored(CODE.keyId, 'rewKey'),
    pubkey: stored(CODE.keyId, 'rewKey'),
    lamports: {
      code: CODE.long,
      bind: (g, context) => ({ p0: g.made('rewardLamports').at, w0: 8, w1: inQuotes(context) }),
    },
  },
};

export const STEPS: Readonly<Record<RecordKind, Readonly<Record<string, Step>>>> = mapKeys(
  keysOf(OTHER_STEPS),
  (kind) => ({ ...columnSteps(kind), ...OTHER_STEPS[kind] }),
);
