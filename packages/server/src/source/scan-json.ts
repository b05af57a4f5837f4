import { ensureMemory, type Kernel, loadKernel } from '../kernels/load-kernel.ts';

interface ScanExports {
  inputAddress(): number;
  runsAddress(): number;
  partsAddress(): number;
  countParts(): number;
  memoryBytes(): number;
  begin(depthMax: number): void;
  scan(length: number, position: number): number;
  finish(position: number): number;
  scanFlags(): number;
}

/** What one pass over the bytes of a JSON text found. */
export interface JsonScan {
  readonly isAscii: boolean;
  readonly isTooDeep: boolean;
  /** An escape of half a surrogate pair: text that no UTF-8 can hold. */
  readonly hasLoneSurrogate: boolean;
  /** U+007F occurs, bare or escaped. */
  readonly hasDelete: boolean;
  /** Start and end, in turn, of every run of 16 digits or more outside strings. */
  readonly digitRuns: readonly number[];
  /** Start and end, in turn, of every object of 512 bytes or more at depth 3: the elements of a block's lists. */
  readonly parts: readonly number[];
}

// As the kernel has them.
const pieceBytesMax = 262_144;
const lookaheadBytes = 64;
const blockBytes = 64;
const space = 0x20;
const flag = { nonAscii: 1, tooDeep: 2, loneSurrogate: 4, delete: 8 } as const;

let loaded: Kernel<ScanExports> | undefined;

function kernel(): Kernel<ScanExports> {
  if (loaded === undefined) {
    loaded = loadKernel<ScanExports>('scan');
    ensureMemory(loaded.memory, loaded.exports.memoryBytes());
  }
  return loaded;
}

export function scanJson(bytes: Uint8Array, depthMax: number): JsonScan {
  const { memory, exports } = kernel();
  const input = new Uint8Array(
    memory.buffer,
    exports.inputAddress(),
    pieceBytesMax + lookaheadBytes,
  );
  const digitRuns: number[] = [];
  const parts: number[] = [];
  exports.begin(depthMax);
  for (let start = 0; start < bytes.length; start += pieceBytesMax) {
    const end = Math.min(start + pieceBytesMax, bytes.length);
    const seen = bytes.subarray(start, Math.min(end + lookaheadBytes, bytes.length));
    input.set(seen);
    input.fill(space, seen.length);
    const length = Math.ceil((end - start) / blockBytes) * blockBytes;
    collect(exports.runsAddress(), exports.scan(length, start), digitRuns);
    collect(exports.partsAddress(), exports.countParts(), parts);
  }
  collect(exports.runsAddress(), exports.finish(bytes.length), digitRuns);
  const flags = exports.scanFlags();
  return {
    isAscii: (flags & flag.nonAscii) === 0,
    isTooDeep: (flags & flag.tooDeep) !== 0,
    hasLoneSurrogate: (flags & flag.loneSurrogate) !== 0,
    hasDelete: (flags & flag.delete) !== 0,
    digitRuns,
    parts,
  };
}

/** Appends the pairs that the kernel put at an address. */
function collect(address: number, count: number, pairs: number[]): void {
  if (count === 0) return;
  const edges = new Int32Array(kernel().memory.buffer, address, count * 2);
  for (const edge of edges) pairs.push(edge);
}
