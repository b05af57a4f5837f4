/** A ledger that changes on command: extend, fork, finalize. It responds as the interface describes, in the simplest way. */
export interface ModelBlock {
  readonly number: number;
  readonly hash: string;
  /** Whether the test's query selects a record of this block. */
  readonly matches: boolean;
}

export interface ModelQuery {
  readonly fromBlock: number;
  readonly toBlock?: number | null;
  readonly parentBlockHash?: string | null;
  readonly includeAllBlocks?: boolean;
}

export type ModelResponse =
  | { readonly kind: 'lines'; readonly blocks: readonly ModelBlock[] }
  | { readonly kind: 'above' }
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly ModelBlock[] };

export interface Step {
  /** The distance to the previous block in slots. */
  readonly gap: number;
  readonly matches: boolean;
}

export class ModelChain {
  blocks: ModelBlock[] = [];
  readonly #replaced = new Set<string>();
  #finalizedCount = 0;
  #branch = 0;

  get head(): ModelBlock | undefined {
    return this.blocks.at(-1);
  }

  get finalized(): ModelBlock | undefined {
    return this.blocks[this.#finalizedCount - 1];
  }

  extend(steps: readonly Step[]): void {
    for (const { gap, matches } of steps) {
      const number = (this.head?.number ?? -1) + gap;
      this.blocks.push({ number, hash: `h${number}b${this.#branch}`, matches });
    }
  }

  /** Replaces the last blocks, but none that is finalized. */
  fork(depth: number, steps: readonly Step[]): void {
    const kept = Math.max(this.#finalizedCount, this.blocks.length - depth);
    for (const { hash } of this.blocks.slice(kept)) this.#replaced.add(hash);
    this.blocks = this.blocks.slice(0, kept);
    this.#branch++;
    this.extend(steps);
  }

  /** Makes all blocks final except the last ones. */
  finalize(left: number): void {
    this.#finalizedCount = Math.max(this.#finalizedCount, this.blocks.length - left);
  }

  answer(query: ModelQuery, pageLength = 100): ModelResponse {
    const { fromBlock, parentBlockHash, includeAllBlocks = false } = query;
    const toBlock = query.toBlock ?? Infinity;
    const below = this.blocks.filter(({ number }) => number < fromBlock);
    const conflict = { kind: 'conflict', previousBlocks: below.slice(-pageLength) } as const;
    const head = this.head?.number ?? -1;
    const parent = below.at(-1);
    const isSent = parentBlockHash !== undefined && parentBlockHash !== null;
    const isKnown = fromBlock <= head + 1 || this.#replaced.has(parentBlockHash ?? '');
    if (isSent && isKnown && parent !== undefined && parent.hash !== parentBlockHash)
      return conflict;
    const covered = this.blocks.filter(({ number }) => number >= fromBlock && number <= toBlock);
    if (covered.length === 0)
      return head > toBlock ? { kind: 'lines', blocks: [] } : { kind: 'above' };
    const last = covered.at(-1);
    const isSelected = (block: ModelBlock) => block.matches || includeAllBlocks || block === last;
    return { kind: 'lines', blocks: covered.filter(isSelected) };
  }
}

/** Returns a line of a response: a transaction whose fee differs between branches. */
export function modelLine({ number, hash, matches }: ModelBlock): string {
  const header = `"header":{"number":${number},"hash":"${hash}"}`;
  const fee = `1844674407370955${String(number % 10_000).padStart(4, '0')}`;
  return matches
    ? `{${header},"transactions":[{"feePayer":"${hash}","fee":${fee}}]}\n`
    : `{${header}}\n`;
}
