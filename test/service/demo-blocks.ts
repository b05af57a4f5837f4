/** Reads the blocks and heads of a running demo. */
import { expect } from 'vitest';
import type { ServiceProcess } from './service-process.ts';

export interface Line {
  readonly header: {
    readonly number: number;
    readonly hash: string;
    readonly parentHash: string | null;
    readonly parentSlot: number;
    readonly timestamp: number;
  };
  readonly tokenBalances?: readonly object[];
}

export interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

/** Selects the header fields of `Line`. */
export const fields = {
  block: { number: true, hash: true, parentHash: true, parentSlot: true, timestamp: true },
};

export function linesOf(text: string): Line[] {
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** Returns every block of a bounded range of a dataset. */
export async function readBlocks(
  demo: ServiceProcess,
  dataset: string,
  [fromBlock, toBlock]: readonly [number, number],
): Promise<Line[]> {
  const body = { fromBlock, toBlock, fields, includeAllBlocks: true };
  const response = await demo.query(`/datasets/${dataset}/stream`, body);
  expect(response.status).toBe(200);
  return linesOf(await response.text());
}

export function expectLinked(lines: readonly Line[]): void {
  for (const [i, { header }] of lines.entries()) {
    const below = lines[i - 1]?.header;
    if (below === undefined) continue;
    expect([header.parentSlot, header.parentHash]).toEqual([below.number, below.hash]);
    expect(header.number).toBeGreaterThan(below.number);
  }
}

export async function waitFor<Value>(read: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until a dataset has reached a slot with its head or its finalized head. */
export function waitForSlot(
  demo: ServiceProcess,
  head: 'ledger-beta/head' | 'ledger-beta/finalized-head' | 'ledger-mainnet/finalized-head',
  slot: number,
): Promise<BlockRef> {
  return waitFor(async () => {
    const ref = await demo.getJson<BlockRef | null>(`/datasets/${head}`);
    return ref !== null && ref.number >= slot ? ref : undefined;
  });
}
