// Scans JSON for those who read it with `JSON.parse`. The caller makes room for `memoryBytes`, puts the text at the input, and
// calls `scan`.
import { scanBytes, scanText } from './shared/scan';

export { partCount, partsAddress, runCount, runsAddress, scanFlags } from './shared/scan';

const input: usize = (__heap_base + 63) & ~63;

export function inputAddress(): usize {
  return input;
}

/** The memory that a text of this length takes. */
export function memoryBytes(length: u32): usize {
  return input + scanBytes(length);
}

export function scan(length: u32, depthMax: i32): void {
  scanText(input, length, depthMax);
}
