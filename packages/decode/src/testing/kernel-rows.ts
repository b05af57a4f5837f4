/** Decodes single instructions with the kernel. */

import type { EngineExports } from '@sluice/kernels/engine-exports';
import * as layout from '@sluice/kernels/layout/decoding';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import { KernelUnderTest } from '../../../kernels/src/testing/kernel-memory.ts';

/** The value of memory after a reset. */
const guardByte = 0xa5;

export interface KernelRow {
  /** The decoder of the program. */
  readonly decoder: Uint8Array;
  readonly data: Uint8Array;
  /** Addresses of 32 bytes. */
  readonly accounts: readonly Uint8Array[];
  /** The space for the text. */
  readonly capacity?: number;
}

export class KernelRows {
  readonly #kernel = new KernelUnderTest<EngineExports>('engine');

  constructor() {
    const { exports } = this.#kernel;
    exports.base58Initialize(this.#kernel.reserve(exports.BASE58_TABLE_BYTES.value));
    exports.setDecodingCache(
      this.#kernel.bytes(new Uint8Array(exports.DECODING_CACHE_BYTES.value)),
    );
    this.#kernel.keep();
  }

  /** Returns the text of an instruction, 'host' if the host decodes it, or 'full' if the text does not fit. */
  instruction({ decoder, data, accounts, capacity = 1 << 18 }: KernelRow): string {
    const kernel = this.#kernel;
    kernel.reset();
    const ints = (...values: number[]) => kernel.ints(values);
    const keys = [new Uint8Array(32), ...accounts].map((key) => {
      const padded = new Uint8Array(KEY_TEXT_BYTES);
      padded.set(key);
      return kernel.bytes(padded);
    });
    const keyStarts = ints(0, keys.length);
    const keyIds = ints(...keys.keys());
    const keyTable = ints(...keys);
    const table = new Uint32Array(layout.DECODING_BYTES / 4);
    const set = (offset: number, value: number) => {
      table[offset / 4] = value;
    };
    set(layout.DECODING_INS_PROGRAM, ints(0));
    set(layout.DECODING_INS_ACCOUNTS, ints(...accounts.map((_, i) => i + 1)));
    set(layout.DECODING_ACCOUNT_STARTS, ints(0, accounts.length));
    set(layout.DECODING_DATA_STARTS, ints(0, data.length));
    set(layout.DECODING_DATA, kernel.bytes(data));
    const at = kernel.ints(table);
    const code = kernel.bytes(decoder);
    const marks = kernel.bytes([1]);
    const rowStarts = ints(0, 1);
    const starts = ints(0, 0);
    const out = kernel.reserve(capacity);
    const guard = kernel.bytes(new Uint8Array(256).fill(guardByte));
    const { setKeys, setDecoder, writeDecodedRows } = kernel.exports;
    setKeys(keyStarts, keyIds, keyTable);
    setDecoder(at, 0, 1, code);
    const rows = [marks, marks, rowStarts, 0, 1] as const;
    const target = [starts, out, 0, capacity] as const;
    const isDone = writeDecodedRows(at, layout.NEED_INSTRUCTION, 0, ...rows, ...target);
    if (!kernel.isUntouched(guard, 256)) return 'written beyond the space';
    const [need] = kernel.readInts(at + layout.DECODING_NEED, 1);
    if (need === layout.NEED_INSTRUCTION) return 'host';
    if (isDone === 0) return 'full';
    const [, end = 0] = kernel.readInts(starts, 2);
    return Buffer.from(kernel.read(out, end)).toString('utf8');
  }
}
