import type { ChainBlock } from '../chain/chain-block.ts';
import type { RenderBlock } from '../node/rendered-blocks.ts';

/** An integer that a JavaScript number cannot represent. Edits of a block must not change it. */
export const exactLamports = '9007199254740993';

/** Renders a block of one transaction, for tests of the node that do not need realistic content. */
export const renderPlainBlock: RenderBlock = (block, options) => {
  const parts = [
    `"blockhash":"${block.blockhash}"`,
    `"previousBlockhash":"${block.previousBlockhash}"`,
    `"parentSlot":${block.parentSlot}`,
    `"blockTime":${block.blockTime}`,
    `"blockHeight":${block.height}`,
  ];
  if (options.rewards) parts.push('"rewards":[]');
  if (options.transactionDetails === 'full') parts.push(`"transactions":[${transaction(block)}]`);
  return { json: Buffer.from(`{${parts.join(',')}}`), versionMax: 0 };
};

function transaction({ blockhash }: ChainBlock): string {
  const meta = [
    '"err":null',
    `"fee":${exactLamports}`,
    '"innerInstructions":[{"index":0,"instructions":[]}]',
    '"logMessages":["Program log: a \\"logMessages\\":[1] in a text"]',
    '"preBalances":[2],"postBalances":[1]',
    '"preTokenBalances":[],"postTokenBalances":[]',
    '"loadedAddresses":{"writable":[],"readonly":[]}',
    '"rewards":[]',
  ];
  return `{"transaction":{"signatures":["${blockhash}"]},"meta":{${meta.join(',')}},"version":0}`;
}
