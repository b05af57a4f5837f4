import { copyBytes } from '@sluice/base/memory/copy-bytes';
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import {
  SCAN_AHEAD_BYTES,
  SCAN_DELETE,
  SCAN_LONE_SURROGATE,
  SCAN_NON_ASCII,
  SCAN_TOO_DEEP,
} from './layout/reading.ts';

/** The exports of a kernel that scans JSON. */
export interface ScanExports {
  inputAddress(): number;
  memoryBytes(length: number): number;
  beginText(length: number, depthMax: number): void;
  scanTo(end: number): void;
  scanFlags(): number;
  partsAddress(): number;
  partCount(): number;
  runsAddress(): number;
  runCount(): number;
}

/** The result of scanning a JSON text. Its views are valid until the kernel scans the next text. */
export interface JsonScan {
  /** The text itself, in memory that is not shared. */
  readonly bytes: Buffer;
  readonly isAscii: boolean;
  readonly isTooDeep: boolean;
  /** Whether there is an escape of half a surrogate pair, which UTF-8 cannot represent. */
  readonly hasLoneSurrogate: boolean;
  /** Whether U+007F occurs, literally or escaped. */
  readonly hasDelete: boolean;
  /** Start and end, alternating, of every run of 16 digits or more outside strings. */
  readonly digitRuns: Uint32Array;
  /** Start and end, alternating, of every object of 512 bytes or more at depth 3: the elements of a block's lists. */
  readonly parts: Uint32Array;
}

/** Small enough to stay in the processor's cache until it is scanned. */
const pieceBytes = 128 * 1024;

/** Copies a JSON text into the memory of a kernel and scans it there. */
export class JsonScanner {
  readonly #kernel: Kernel<ScanExports>;

  constructor(kernel: Kernel<ScanExports>) {
    this.#kernel = kernel;
  }

  scan(bytes: Uint8Array, depthMax: number): JsonScan {
    const { memory, exports } = this.#kernel;
    ensureMemory(memory, exports.memoryBytes(bytes.length));
    const { buffer } = memory;
    const text = Buffer.from(buffer, exports.inputAddress(), bytes.length);
    exports.beginText(bytes.length, depthMax);
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      const end = Math.min(start + pieceBytes, bytes.length);
      const ahead = Math.min(end + SCAN_AHEAD_BYTES, bytes.length);
      copyBytes(text, start, bytes.subarray(start, ahead));
      exports.scanTo(end);
    }
    const flags = exports.scanFlags();
    return {
      bytes: text,
      isAscii: (flags & SCAN_NON_ASCII) === 0,
      isTooDeep: (flags & SCAN_TOO_DEEP) !== 0,
      hasLoneSurrogate: (flags & SCAN_LONE_SURROGATE) !== 0,
      hasDelete: (flags & SCAN_DELETE) !== 0,
      digitRuns: new Uint32Array(buffer, exports.runsAddress(), exports.runCount() * 2),
      parts: new Uint32Array(buffer, exports.partsAddress(), exports.partCount() * 2),
    };
  }
}
