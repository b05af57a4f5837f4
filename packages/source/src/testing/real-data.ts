/** Real blocks for tests and measurements, from a folder next to the repository. Tests skip if it is absent. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { Slot } from '@sluice/ledger/primitives';

const folder = fileURLToPath(new URL('../../../../../shared/data/', import.meta.url));

export interface RealBlock {
  readonly slot: Slot;
  /** The bytes of the getBlock result, with every digit. */
  readonly bytes: Uint8Array;
}

export function realDataPath(file: string): string {
  return join(folder, file);
}

export function hasRealData(file: string): boolean {
  return existsSync(join(folder, file));
}

/** Reads a file of lines `{"slot":N,"block":<result>}`. */
export function readRealBlocks(file: string): RealBlock[] {
  const text = gunzipSync(readFileSync(join(folder, file)));
  const blocks: RealBlock[] = [];
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf(0x0a, start);
    const end = newline < 0 ? text.length : newline;
    if (end > start) blocks.push(readLine(text.subarray(start, end)));
    start = end + 1;
  }
  return blocks;
}

function readLine(line: Uint8Array): RealBlock {
  const head = /^\{"slot":\s*(\d+),\s*"block":\s*/.exec(
    Buffer.from(line.subarray(0, 60)).toString('latin1'),
  );
  if (head === null) throw new TypeError('a line of real data begins with its slot and block');
  // A copy, so that a test cannot access the bytes of other lines.
  return { slot: Number(head[1]) as Slot, bytes: line.slice(head[0].length, line.length - 1) };
}
