/** Writes rows from columns by the kernel. */
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import {
  COPY_BIGINT,
  COPY_BOOLEAN,
  COPY_COLUMN_BYTES,
  COPY_DICTIONARY,
  COPY_FIELDS,
  COPY_INTEGER,
  COPY_LONG,
  COPY_NUMERIC,
  COPY_SIGNED,
  COPY_SLACK_BYTES,
  COPY_SLICES,
  COPY_TIME,
} from '@sluice/kernels/layout/copy-rows';
import { loadKernel } from '@sluice/kernels/load-kernel';

/** How the kernel reads a column. The buffers are those of Arrow, except that `fields` are already in the form of COPY. */
export type CopyColumn =
  | { readonly kind: 'fields'; readonly starts: Uint8Array; readonly bytes: Uint8Array }
  | (Nullable & {
      readonly kind: 'slices';
      readonly starts: Uint8Array;
      readonly bytes: Uint8Array;
    })
  | (Nullable & {
      readonly kind: 'dictionary';
      readonly indexes: Uint8Array;
      readonly starts: Uint8Array;
      readonly bytes: Uint8Array;
    })
  | (Nullable & { readonly kind: 'boolean'; readonly values: Uint8Array })
  | (Nullable & {
      readonly kind: IntegerKind;
      readonly values: Uint8Array;
      readonly isLong: boolean;
      readonly isSigned: boolean;
    });

interface Nullable {
  /** A bit for each row; undefined if no value is null. */
  readonly valid: Uint8Array | undefined;
}

/** An `integer` has values of 32 bits. */
export type IntegerKind = 'integer' | 'bigint' | 'time' | 'numeric';

interface CopyRowsExports {
  inputAddress(): number;
  endAddress(): number;
  writeRows(
    columns: number,
    columnCount: number,
    first: number,
    end: number,
    output: number,
    limit: number,
  ): number;
}

const integerKinds: Readonly<Record<IntegerKind, number>> = {
  integer: COPY_INTEGER,
  bigint: COPY_BIGINT,
  time: COPY_TIME,
  numeric: COPY_NUMERIC,
};

/** The rows that are written at once, which become a message of the protocol. It grows for a row that is larger. */
const outputBytesMin = 1 << 16;

export class CopyKernel {
  readonly #kernel: Kernel<CopyRowsExports> = loadKernel<CopyRowsExports>('copy-rows');
  #outputBytes = outputBytesMin;

  /** Calls `onRows` with parts of the rows. The bytes are valid during the call. */
  write(
    columns: readonly CopyColumn[],
    rowCount: number,
    onRows: (rows: Uint8Array, count: number) => void,
  ): void {
    const { memory, exports } = this.#kernel;
    const output = this.#place(columns);
    for (let row = 0; row < rowCount; ) {
      ensureMemory(memory, output + this.#outputBytes + COPY_SLACK_BYTES);
      const limit = output + this.#outputBytes;
      const address = exports.inputAddress();
      const next = exports.writeRows(address, columns.length, row, rowCount, output, limit);
      if (next === row) this.#outputBytes *= 2;
      else onRows(new Uint8Array(memory.buffer, output, exports.endAddress() - output), next - row);
      row = next;
    }
  }

  /** Copies the columns into the memory of the kernel. Returns the address of the free memory after them. */
  #place(columns: readonly CopyColumn[]): number {
    const { memory, exports } = this.#kernel;
    const start = exports.inputAddress();
    const addresses = new Map<Uint8Array, number>();
    let end = start + columns.length * COPY_COLUMN_BYTES;
    const addressOf = (bytes: Uint8Array | undefined): number => {
      if (bytes === undefined) return 0;
      let address = addresses.get(bytes);
      if (address === undefined) {
        address = end;
        addresses.set(bytes, address);
        end += bytes.length;
      }
      return address;
    };
    const words = columns.map((column) => describe(column, addressOf));
    // The kernel reads whole vectors, also at the end of the input.
    ensureMemory(memory, end + COPY_SLACK_BYTES);
    const to = new Uint8Array(memory.buffer);
    for (const [bytes, address] of addresses) to.set(bytes, address);
    const view = new DataView(memory.buffer, start);
    for (const [i, word] of words.flat().entries()) view.setUint32(i * 4, word, true);
    return end;
  }
}

/** Returns the words of a column in the order of `layout/copy-rows.ts`. */
function describe(
  column: CopyColumn,
  addressOf: (bytes: Uint8Array | undefined) => number,
): readonly number[] {
  switch (column.kind) {
    case 'fields':
      return [COPY_FIELDS, 0, 0, addressOf(column.starts), addressOf(column.bytes)];
    case 'slices': {
      const { valid, starts, bytes } = column;
      return [COPY_SLICES, addressOf(valid), 0, addressOf(starts), addressOf(bytes)];
    }
    case 'dictionary': {
      const [valid, indexes] = [addressOf(column.valid), addressOf(column.indexes)];
      return [COPY_DICTIONARY, valid, indexes, addressOf(column.starts), addressOf(column.bytes)];
    }
    case 'boolean':
      return [COPY_BOOLEAN, addressOf(column.valid), addressOf(column.values), 0, 0];
    default: {
      const { kind, isLong, isSigned } = column;
      const flags = (isLong ? COPY_LONG : 0) + (isSigned ? COPY_SIGNED : 0);
      return [integerKinds[kind] + flags, addressOf(column.valid), addressOf(column.values), 0, 0];
    }
  }
}

let shared: CopyKernel | undefined;

/** Returns the kernel of this process. All tables use it in turn, because a batch is written at once. */
export function copyKernel(): CopyKernel {
  shared ??= new CopyKernel();
  return shared;
}
