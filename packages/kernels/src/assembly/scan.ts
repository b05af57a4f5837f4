// Scans JSON before it is read with `JSON.parse`. The caller grows the memory to `memoryBytes`, starts a text, and writes it to the input
// in pieces.
import { beginScan, scanBytes } from './common/scan';

export { partCount, partsAddress, runCount, runsAddress, scanFlags, scanTo } from './common/scan';

const input: usize = (__heap_base + 63) & ~63;

export function inputAddress(): usize {
  return input;
}

/** Returns the memory for a text of this length. */
export function memoryBytes(length: u32): usize {
  return input + scanBytes(length);
}

export function beginText(length: u32, depthMax: i32): void {
  beginScan(input, length, depthMax);
}
