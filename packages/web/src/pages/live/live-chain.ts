/** The newest blocks of a ledger in the order of arrival, with orphaned branches. Immutable: every change returns a new chain. */
export interface LiveBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentSlot: number;
  readonly parentHash: string | null;
  readonly timestamp: bigint | null;
  readonly transactionCount: number;
  readonly isOrphaned: boolean;
}

export interface LiveChain {
  /** The newest block first. Of several blocks of one slot, the block of the current branch is first. */
  readonly blocks: readonly LiveBlock[];
  readonly finalized: number | null;
  readonly forkCount: number;
  /** The number of rows that the last change added at the top. */
  readonly addedCount: number;
}

/** Older blocks are dropped from the page. */
const blockCountMax = 500;

export const emptyChain: LiveChain = { blocks: [], finalized: null, forkCount: 0, addedCount: 0 };

export function appendBlocks(
  chain: LiveChain,
  added: readonly LiveBlock[],
  finalized: number | null,
): LiveChain {
  const hashes = new Set(added.map(({ hash }) => hash));
  const kept = chain.blocks.filter(({ hash }) => !hashes.has(hash));
  const blocks = [...added, ...kept].sort(
    (a, b) => b.number - a.number || Number(a.isOrphaned) - Number(b.isOrphaned),
  );
  return {
    ...chain,
    blocks: blocks.slice(0, blockCountMax),
    finalized: Math.max(finalized ?? -1, chain.finalized ?? -1),
    addedCount: blocks.length - chain.blocks.length,
  };
}

/** Marks the blocks above a slot as orphaned: the ledger continues on another branch. */
export function rollBack(chain: LiveChain, to: number): LiveChain {
  const isVoid = ({ number, isOrphaned }: LiveBlock) => number > to && !isOrphaned;
  if (!chain.blocks.some(isVoid)) return { ...chain, addedCount: 0 };
  const blocks = chain.blocks.map((block) =>
    isVoid(block) ? { ...block, isOrphaned: true } : block,
  );
  return { ...chain, blocks, forkCount: chain.forkCount + 1, addedCount: 0 };
}
