import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import {
  ZSTD_CHECKSUM,
  ZSTD_DICTIONARY,
  ZSTD_INVALID,
  ZSTD_NOT_ZSTD,
  ZSTD_SLACK_BYTES,
  ZSTD_TOO_LARGE,
  ZSTD_TRUNCATED,
} from './layout/reading.ts';
import { loadKernel } from './load-kernel.ts';

interface ZstdExports {
  initialize(): number;
  decode(input: number, length: number, output: number, capacity: number): number;
  readBytes(input: number): number;
}

/** What is wrong with a frame, for messages. */
const faults: Readonly<Record<number, string>> = {
  [ZSTD_TRUNCATED]: 'the zstd frame ends too early',
  [ZSTD_NOT_ZSTD]: 'the data is not a zstd frame',
  [ZSTD_DICTIONARY]: 'the zstd frame needs a dictionary',
  [ZSTD_INVALID]: 'the zstd frame is damaged',
  [ZSTD_TOO_LARGE]: 'the zstd frame is larger than its limit',
  [ZSTD_CHECKSUM]: 'the zstd frame has a wrong checksum',
};

function describeZstdFault(fault: number): string {
  return faults[fault] ?? 'the zstd frame is damaged';
}

export type ZstdResult =
  | { readonly kind: 'decoded'; readonly bytes: Uint8Array }
  | { readonly kind: 'damaged'; readonly fault: string; readonly offset: number };

/** The output is this many times as large as a frame at first, and grows if it is too small. */
const expansion = 16;
const outputBytesMin = 64 * 1024;

/** Decodes single Zstandard frames, without a dictionary. Node 20 has no decoder of its own. */
export class ZstdDecoder {
  readonly #kernel: Kernel<ZstdExports> = loadKernel<ZstdExports>('zstd');
  readonly #input = this.#kernel.exports.initialize();

  /** Decodes a frame to at most `bytesMax` bytes. The result is a copy. */
  decode(frame: Uint8Array, bytesMax: number): ZstdResult {
    const { memory, exports } = this.#kernel;
    const output = (this.#input + frame.length + ZSTD_SLACK_BYTES + 7) & ~7;
    let capacity = Math.min(bytesMax, Math.max(outputBytesMin, frame.length * expansion));
    for (;;) {
      ensureMemory(memory, output + capacity + ZSTD_SLACK_BYTES);
      new Uint8Array(memory.buffer).set(frame, this.#input);
      const length = exports.decode(this.#input, frame.length, output, capacity);
      if (length >= 0) {
        return {
          kind: 'decoded',
          bytes: new Uint8Array(memory.buffer).slice(output, output + length),
        };
      }
      if (length !== ZSTD_TOO_LARGE || capacity === bytesMax) {
        const offset = exports.readBytes(this.#input);
        return { kind: 'damaged', fault: describeZstdFault(length), offset };
      }
      capacity = Math.min(bytesMax, capacity * expansion);
    }
  }
}
