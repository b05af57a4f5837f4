import type { SimulatedChain } from '../chain/chain.ts';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { RenderedContent } from '../content/render-raw-block.ts';
import { type Faults, numberOf, textOf } from './faults.ts';
import { replaceEverywhere } from './json-text.ts';

/** Applies the faults with the layer `block`, which change the content of a block. */
export function applyBlockFaults(
  block: ChainBlock,
  rendered: RenderedContent,
  dependencies: { faults: Faults; chain: SimulatedChain },
): RenderedContent {
  const edits = collectEdits(block, dependencies);
  if (edits.length === 0) return rendered;
  let text = Buffer.from(rendered.json).toString();
  for (const edit of edits) text = edit(text);
  return { ...rendered, json: Buffer.from(text) };
}

type Edit = (text: string) => string;

function collectEdits(
  block: ChainBlock,
  { faults, chain }: { faults: Faults; chain: SimulatedChain },
): Edit[] {
  const { slot, height, parentSlot } = block;
  const edits: Edit[] = [];
  // The first occurrence of a key belongs to the block itself, because its fields come before rewards and transactions.
  const setHeader = (key: string, value: string | number) =>
    edits.push((text) => {
      return text.replace(new RegExp(`(?<="${key}":)("[^"]*"|\\d+)`), () => JSON.stringify(value));
    });
  const wrongHash = faults.take('wrong-parent-hash', { slot });
  if (wrongHash) {
    setHeader('previousBlockhash', textOf(wrongHash, 'hash') ?? chain.hash('no block', slot));
  }
  const wrongSlot = faults.take('wrong-parent-slot', { slot });
  if (wrongSlot) setHeader('parentSlot', Math.max(0, parentSlot - numberOf(wrongSlot, 'by')));
  const wrongHeight = faults.take('wrong-height', { slot });
  if (wrongHeight) setHeader('blockHeight', height + numberOf(wrongHeight, 'by'));
  if (faults.take('bad-hash', { slot })) setHeader('blockhash', `${block.blockhash}\r\n`);
  const incomplete = faults.take('incomplete-meta', { slot });
  if (incomplete) edits.push((text) => removeKind(text, textOf(incomplete, 'missing') ?? 'logs'));
  const giant = faults.take('giant-block', { slot });
  if (giant) edits.push((text) => inflate(text, numberOf(giant, 'bytes'), block));
  return edits;
}

const metaKeys: Readonly<Record<string, readonly string[]>> = {
  logs: ['logMessages'],
  meta: ['meta'],
  inner: ['innerInstructions'],
  balances: ['preBalances', 'postBalances'],
  'token-balances': ['preTokenBalances', 'postTokenBalances'],
  'loaded-addresses': ['loadedAddresses'],
};

function removeKind(text: string, missing: string): string {
  if (missing === 'rewards') return text.replace(blockRewards, '');
  let edited = text;
  for (const key of metaKeys[missing] ?? []) edited = replaceEverywhere(edited, key, 'null');
  return edited;
}

/** The rewards of the block, which come before those of its transactions. */
const blockRewards = /,"rewards":\[[^\]]*\]/;

/** Repeats the transactions of the block. A block without transactions gets rewards instead. */
function inflate(text: string, bytes: number, block: ChainBlock): string {
  const start = text.indexOf('"transactions":[') + '"transactions":['.length;
  const transactions = text.slice(start, -']}'.length);
  const reward = `{"pubkey":"${block.blockhash}","lamports":1,"postBalance":1,"rewardType":"Fee","commission":null}`;
  const unit = transactions === '' ? reward : transactions;
  const list = Array(1 + Math.ceil(bytes / unit.length))
    .fill(unit)
    .join(',');
  if (transactions === '') return text.replace(blockRewards, () => `,"rewards":[${list}]`);
  return `${text.slice(0, start)}${list}]}`;
}
