// Scans JSON for those who read it with `JSON.parse`. The caller makes room for `memoryBytes`, begins a text, and puts it at the
// input, piece by piece.
import { beginScan, scanBytes } from './shared/scan';

export { partCount, partsAddress, runCount, runsAddress, scanFlags, scanTo } from './shared/scan';

const input: usize = (__heap_base + 63) & ~63;

export function inputAddress(): usize {
  return input;
}

/** The memory that a text of this length takes. */
export function memoryBytes(length: u32): usize {
  return input + scanBytes(length);
}

export function beginText(length: u32, depthMax: i32): void {
  beginScan(input, length, depthMax);
}
