import { expect, test } from 'vitest';
import { SimulatedChain } from '../chain/chain.ts';
import type { ChainBlock } from '../chain/chain-block.ts';
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

test('default: a block is rendered once for each requested form', () => {
  const { blocks, rendered } = create(10_000);
  const first = blocks.get(blockAt(5), full);
  expect(blocks.get(blockAt(5), full)).toBe(first);
  blocks.get(blockAt(5), { ...full, transactionDetails: 'none' });
  blocks.get({ ...blockAt(5), branch: 9 }, full);
  expect(rendered).toEqual(['0/5/full', '0/5/none', '9/5/full']);
});

test('limit: the cache has a maximum size and keeps the most recently used blocks', () => {
  const { blocks, rendered } = create(250);
  for (const slot of [1, 2, 1, 3, 1, 2]) blocks.get(blockAt(slot), full);
  expect(rendered).toEqual(['0/1/full', '0/2/full', '0/3/full', '0/2/full']);
  expect(blocks.bytes).toBe(200);
});

test('limit: a block larger than the cache is rendered and not cached', () => {
  const { blocks } = create(50);
  expect(blocks.get(blockAt(1), full).json).toHaveLength(100);
  expect(blocks.bytes).toBe(0);
});

test('behavior: the block after a requested one is rendered in the same form before it is requested', () => {
  const { blocks, rendered } = create(10_000);
  blocks.prepare(blockAt(5));
  expect(rendered).toEqual([]);
  blocks.get(blockAt(5), { ...full, rewards: false });
  blocks.get(blockAt(5), { transactionDetails: 'none', rewards: false });
  blocks.prepare(blockAt(6));
  blocks.prepare(blockAt(6));
  expect(rendered).toEqual(['0/5/full', '0/5/none', '0/6/full']);
  blocks.get(blockAt(6), { ...full, rewards: false });
  expect(rendered).toHaveLength(3);
  expect(blocks.bytes).toBe(300);
});

test('limit: requests of a client far behind do not cause rendering at the head', () => {
  const { blocks, rendered } = create(10_000);
  blocks.get(blockAt(5), full);
  blocks.prepare(blockAt(100));
  expect(rendered).toEqual(['0/5/full']);
});
