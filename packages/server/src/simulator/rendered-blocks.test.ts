import { expect, test } from 'vitest';
import { assert } from '../base/assert.ts';
import { SimulatedChain } from './chain.ts';
import type { ChainBlock } from './chain-block.ts';
import { RenderedBlocks } from './rendered-blocks.ts';

const chain = new SimulatedChain({ skipRate: 0 });
const blockAt = (slot: number) => chain.blockAt(slot) as ChainBlock;
const full = { transactionDetails: 'full', rewards: true } as const;

function create(bytesMax: number) {
  const rendered: string[] = [];
  const blocks = new RenderedBlocks(
    { bytesMax },
    {
      render: (block, options) => {
        rendered.push(`${block.branch}/${block.slot}/${options.transactionDetails}`);
        return { json: new Uint8Array(100), versionMax: -1 };
      },
    },
  );
  return { blocks, rendered };
}

test('default: a block is rendered once for each form it is asked in', () => {
  const { blocks, rendered } = create(10_000);
  const first = blocks.get(blockAt(5), full);
  expect(blocks.get(blockAt(5), full)).toBe(first);
  blocks.get(blockAt(5), { ...full, transactionDetails: 'none' });
  blocks.get({ ...blockAt(5), branch: 9 }, full);
  expect(rendered).toEqual(['0/5/full', '0/5/none', '9/5/full']);
});

test('limit: bytes are bounded, and what was used last stays', () => {
  const { blocks, rendered } = create(250);
  for (const slot of [1, 2, 1, 3, 1, 2]) blocks.get(blockAt(slot), full);
  expect(rendered).toEqual(['0/1/full', '0/2/full', '0/3/full', '0/2/full']);
  expect(blocks.bytes).toBe(200);
});

test('limit: a block larger than all room is answered and not kept', () => {
  const { blocks } = create(50);
  expect(blocks.get(blockAt(1), full).json).toHaveLength(100);
  expect(blocks.bytes).toBe(0);
});

test('behavior: the block after one that was asked for is made as that was, before anyone asks', () => {
  const { blocks, rendered } = create(10_000);
  blocks.foresee(blockAt(5));
  expect(rendered).toEqual([]);
  blocks.get(blockAt(5), { ...full, rewards: false });
  blocks.get(blockAt(5), { transactionDetails: 'none', rewards: false });
  blocks.foresee(blockAt(6));
  blocks.foresee(blockAt(6));
  expect(rendered).toEqual(['0/5/full', '0/5/none', '0/6/full']);
  const { json } = blocks.get(blockAt(6), { ...full, rewards: false });
  expect(rendered).toHaveLength(3);
  expect(blocks.bytes).toBe(300);
  blocks.release(json);
});

test('limit: what a client far behind has asked for says nothing about the head', () => {
  const { blocks, rendered } = create(10_000);
  blocks.get(blockAt(5), full);
  blocks.foresee(blockAt(100));
  expect(rendered).toEqual(['0/5/full']);
});

const blockBytes = 1024 * 1024;

/** Blocks of a megabyte full of their slot, of which two are kept. */
function createLarge(): RenderedBlocks {
  return new RenderedBlocks(
    { bytesMax: 2 * blockBytes },
    {
      render: ({ slot }, _options, takeRoom) => {
        assert(takeRoom !== undefined, 'the cache offers room');
        return { json: takeRoom(blockBytes).fill(slot), versionMax: -1 };
      },
    },
  );
}

test('behavior: the room of a block is used again when it is neither kept nor read', () => {
  const blocks = createLarge();
  const first = blocks.get(blockAt(1), full).json;
  expect(blocks.get(blockAt(1), full).json === first).toBe(true);
  blocks.get(blockAt(2), full);
  blocks.get(blockAt(3), full);
  blocks.release(first);
  expect((blocks.get(blockAt(3), full).json.buffer === first.buffer) === false).toBe(true);
  expect([first.at(0), first.at(-1)]).toEqual([1, 1]);
  blocks.release(first);
  expect(blocks.get(blockAt(5), full).json.buffer === first.buffer).toBe(true);
});

test('behavior: a kept block stays whole when its readers are done', () => {
  const blocks = createLarge();
  const first = blocks.get(blockAt(1), full).json;
  blocks.release(first);
  expect(blocks.get(blockAt(1), full).json === first).toBe(true);
  for (const slot of [2, 3, 4]) blocks.get(blockAt(slot), full);
  expect([first.at(0), first.at(-1)]).toEqual([1, 1]);
});

test('behavior: bytes from elsewhere may be released', () => {
  const blocks = createLarge();
  expect(() => blocks.release(new Uint8Array(5))).not.toThrow();
});
