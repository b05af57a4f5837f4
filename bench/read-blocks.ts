/** Raw blocks for measurements: real mainnet blocks if they are next to the repository, otherwise simulated ones. */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import type { Slot } from '@sluice/ledger/primitives';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import { parseContentOptions } from '@sluice/simulator/content/content-options';
import { BlockGenerator } from '@sluice/simulator/content/generate-block';
import { renderRawBlock } from '@sluice/simulator/content/render-raw-block';

export interface BenchBlock {
  readonly slot: Slot;
  readonly bytes: Uint8Array;
}

export interface BenchBlocks {
  readonly origin: string;
  readonly blocks: readonly BenchBlock[];
}

const realFile = new URL('../../../shared/data/blocks-various.jsonl.gz', import.meta.url);
/** The mainnet blocks of 2021 to 2024. The other blocks of the file are small, or of a test network. */
const realSlots = [254170887, 100356971, 110130000, 64800004];
const simulatedSlots = [1000, 1001, 1002];

export function readBlocks(): BenchBlocks {
  return existsSync(realFile)
    ? { origin: 'real mainnet blocks', blocks: readRealBlocks() }
    : { origin: 'simulated blocks, profile 2025', blocks: simulatedSlots.map(simulateBlock) };
}

function readRealBlocks(): BenchBlock[] {
  const lines = gunzipSync(readFileSync(realFile));
  const blocks: BenchBlock[] = [];
  for (let start = 0; start < lines.length; ) {
    const newline = lines.indexOf(0x0a, start);
    const end = newline < 0 ? lines.length : newline;
    const line = lines.subarray(start, end);
    const head = /^\{"slot":\s*(\d+),\s*"block":\s*/.exec(line.toString('latin1', 0, 60));
    if (head !== null && realSlots.includes(Number(head[1]))) {
      const bytes = new Uint8Array(line.subarray(head[0].length, line.length - 1));
      blocks.push({ slot: Number(head[1]) as Slot, bytes });
    }
    start = end + 1;
  }
  return blocks;
}

function simulateBlock(slot: number): BenchBlock {
  const block = new SimulatedChain({ skipRate: 0 }).blockAt(slot);
  assert(block !== undefined, 'a chain without skips has every block');
  const generator = new BlockGenerator(parseContentOptions({ profile: '2025' }));
  const options = { transactionDetails: 'full', rewards: true } as const;
  const { json } = renderRawBlock(generator.generate(block), options);
  return { slot: slot as Slot, bytes: new Uint8Array(json) };
}
