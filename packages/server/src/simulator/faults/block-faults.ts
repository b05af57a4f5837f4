import type { SimulatedChain } from '../chain/chain.ts';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { RenderedContent } from '../content/render-raw-block.ts';
import { type Faults, numberOf, textOf } from './faults.ts';
import { removeTopLevel, replaceEverywhere, replaceTopLevel, topLevelValue } from './json-text.ts';

/** Applies the faults of place `block` that change a block's content. */
export function applyBlockFaults(
  block: ChainBlock,
  rendered: RenderedContent,
  modules: { faults: Faults; chain: SimulatedChain },
): RenderedContent {
  const edits = collectEdits(block, modules);
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
  const setHeader = (key: string, value: string | number) =>
    edits.push((text) => replaceTopLevel(text, key, JSON.stringify(value)));
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
  if (missing === 'rewards') return removeTopLevel(text, 'rewards');
  let edited = text;
  for (const key of metaKeys[missing] ?? []) edited = replaceEverywhere(edited, key, 'null');
  return edited;
}

/** Repeats what the block has; a block that has no transactions gets rewards. */
function inflate(text: string, bytes: number, block: ChainBlock): string {
  const transactions = topLevelValue(text, 'transactions') ?? '[]';
  const isEmpty = transactions === '[]';
  const unit = isEmpty
    ? `{"pubkey":"${block.blockhash}","lamports":1,"postBalance":1,"rewardType":"Fee","commission":null}`
    : transactions.slice(1, -1);
  const count = 1 + Math.ceil(bytes / unit.length);
  const list = `[${Array(count).fill(unit).join(',')}]`;
  return replaceTopLevel(text, isEmpty ? 'rewards' : 'transactions', list);
}
