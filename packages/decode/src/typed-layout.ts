/** Reads the arguments of an instruction or event into columns of values, instead of appending their JSON text. */
import type { ReadValue, TypeCompiler } from './compile-type.ts';
import type { Cursor } from './cursor.ts';
import type { IdlAccount, IdlLayout, IdlType } from './program-description.ts';

/** The type of a column. Every value that has no other type is a text: a string, or the JSON of the value. */
export type ValueType = 'uint32' | 'int32' | 'uint64' | 'int64' | 'boolean' | 'text';

export interface TypedColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** The columns of an instruction or event: its arguments, and the names of accounts. */
export interface TypedColumns {
  readonly args: readonly TypedColumn[];
  readonly accounts: readonly string[];
}

/** The values of one column. Only the list for its type is used. */
export class ColumnBuffer {
  readonly type: ValueType;
  /** Numbers of 32 bits and booleans. */
  readonly ints: Int32Array;
  /** The lower and the upper half of each integer of 64 bits. */
  readonly longs: Uint32Array;
  readonly texts: (string | null)[];
  /** Where the texts start and their bytes, if the kernel wrote them. `texts` has only nulls then. */
  written: readonly [starts: Uint8Array, bytes: Uint8Array] | undefined;

  constructor(type: ValueType, count: number) {
    const sizeFor = (...types: readonly ValueType[]) => (types.includes(type) ? count : 0);
    this.type = type;
    this.ints = new Int32Array(sizeFor('uint32', 'int32', 'boolean'));
    this.longs = new Uint32Array(sizeFor('uint64', 'int64') * 2);
    this.texts = new Array<string | null>(sizeFor('text')).fill(null);
  }
}

type ReadTyped = (c: Cursor, out: ColumnBuffer, row: number) => void;

interface TypedField extends TypedColumn {
  readonly read: ReadTyped;
  readonly isHidden: boolean;
  /** One row for values that are read but not wanted. */
  readonly unwanted: ColumnBuffer;
}

export class TypedLayout {
  readonly args: readonly TypedColumn[];
  /** Undefined for an event, which has those of the instruction that emitted it. */
  readonly accounts: readonly string[] | undefined;
  readonly #fields: readonly TypedField[];
  readonly #fieldsAt: number;
  #compared: TypedColumns | undefined;
  #isSame = false;

  constructor(
    {
      fields,
      fieldsAt,
      accounts,
    }: IdlLayout & { readonly accounts?: readonly IdlAccount[] | undefined },
    types: TypeCompiler,
  ) {
    this.#fields = fields.map(({ name, type, isHidden = false }) => {
      const reader = typedReader(type, types.compile(type));
      return { name, isHidden, ...reader, unwanted: new ColumnBuffer(reader.type, 1) };
    });
    this.#fieldsAt = fieldsAt;
    this.args = this.#fields
      .filter(({ isHidden }) => !isHidden)
      .map(({ name, type }) => ({ name, type }));
    this.accounts = accounts?.map(({ name }) => name);
  }

  /** Returns whether it has these columns. The last result is kept, because every row asks. */
  has(columns: TypedColumns): boolean {
    if (columns !== this.#compared) {
      this.#compared = columns;
      const { args, accounts = columns.accounts } = this;
      this.#isSame = textOf(columns) === textOf({ args, accounts });
    }
    return this.#isSame;
  }

  /** Reads the arguments of a row. Returns why they cannot be decoded, or undefined. Without buffers it only checks that. */
  read(c: Cursor, buffers?: readonly ColumnBuffer[], row = 0): string | undefined {
    if (c.take(this.#fieldsAt) < 0) return c.fault;
    let next = 0;
    for (const { name, read, isHidden, unwanted } of this.#fields) {
      const wanted = isHidden ? undefined : buffers?.[next++];
      const out = wanted ?? unwanted;
      read(c, out, wanted === undefined ? 0 : row);
      if (c.fault !== undefined) return `${c.fault} (at ${name})`;
    }
    return undefined;
  }
}

const textOf = ({ args, accounts }: TypedColumns) => JSON.stringify([args, accounts]);

function typedReader(type: IdlType, read: ReadValue): { type: ValueType; read: ReadTyped } {
  if (type.kind === 'integer' && !type.isBigEndian) {
    const { bytes, isSigned } = type;
    if (bytes === 8) return { type: isSigned ? 'int64' : 'uint64', read: readLong };
    if (bytes < 8) return { type: isSigned ? 'int32' : 'uint32', read: intReader(bytes, isSigned) };
  }
  if (type.kind === 'boolean') return { type: 'boolean', read: booleanReader(read) };
  return { type: 'text', read: textReader(read) };
}

const readLong: ReadTyped = (c, { longs }, row) => {
  const at = c.take(8);
  if (at < 0) return;
  longs[row * 2] = c.view.getUint32(at, true);
  longs[row * 2 + 1] = c.view.getUint32(at + 4, true);
};

function intReader(bytes: number, isSigned: boolean): ReadTyped {
  return (c, { ints }, row) => {
    const at = c.take(bytes);
    if (at < 0) return;
    if (bytes === 1) ints[row] = isSigned ? c.view.getInt8(at) : c.view.getUint8(at);
    else if (bytes === 2)
      ints[row] = isSigned ? c.view.getInt16(at, true) : c.view.getUint16(at, true);
    else ints[row] = c.view.getInt32(at, true);
  };
}

/** Returns the text that a reader appends. */
function take(c: Cursor, read: ReadValue): string {
  c.text = '';
  read(c);
  return c.text;
}

function booleanReader(read: ReadValue): ReadTyped {
  return (c, { ints }, row) => {
    ints[row] = take(c, read) === 'true' ? 1 : 0;
  };
}

function textReader(read: ReadValue): ReadTyped {
  return (c, { texts }, row) => {
    const text = take(c, read);
    if (c.fault !== undefined || text === 'null') return;
    // Most quoted texts are addresses or large integers, without escapes.
    if (!text.startsWith('"')) texts[row] = text;
    else texts[row] = text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
  };
}
