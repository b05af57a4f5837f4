/** Each new block is evaluated once per distinct query, for all who follow. */
import { assert } from '../base/assert.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { Selection } from '../query/query.ts';
import { queryKey } from '../query/query-key.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';

export interface SharedJob {
  readonly selection: Selection;
  readonly snapshot: ChainSnapshot;
  readonly first: number;
  readonly last: number;
}

/** What an entry without lines costs; without it the empty ones would never be forgotten. */
const entryBytes = 1024;

interface Entry {
  readonly evaluated: Promise<readonly EvaluatedBlocks[]>;
  bytes: number;
}

export class SharedEvaluations {
  /** In the order of use: the first is the one to forget. */
  readonly #entries = new Map<string, Entry>();
  readonly #evaluator: BlockEvaluator;
  readonly #bytesMax: number;
  readonly #keys = new WeakMap<Selection, string>();
  #bytes = 0;

  constructor(options: { readonly bytesMax: number }, evaluator: BlockEvaluator) {
    this.#bytesMax = options.bytesMax;
    this.#evaluator = evaluator;
  }

  /** Of what is kept or under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** As the evaluator, for a short range that ends at the head of the snapshot. */
  evaluate(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    const key = this.#keyOf(job);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known.evaluated;
    }
    const entry: Entry = { evaluated: this.#run(job), bytes: entryBytes };
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    entry.evaluated.then(
      (evaluated) => this.#account(key, entry, evaluated),
      () => this.#forget(key, entry),
    );
    return entry.evaluated;
  }

  /** The chain up to a block is what its hash says, so the range and that hash name the blocks. */
  #keyOf(job: SharedJob): string {
    const tip = job.snapshot.head;
    assert(tip !== null, 'a dataset with blocks to evaluate has a head');
    let key = this.#keys.get(job.selection);
    if (key === undefined) {
      key = queryKey(job.selection);
      this.#keys.set(job.selection, key);
    }
    return `${job.first}-${job.last}@${tip.hash} ${key}`;
  }

  async #run(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    // The work is everyone's: the end of the one response that began it does not stop it.
    const signal = new AbortController().signal;
    const evaluated: EvaluatedBlocks[] = [];
    for await (const blocks of this.#evaluator.evaluate({ ...job, signal })) evaluated.push(blocks);
    return evaluated;
  }

  #account(key: string, entry: Entry, evaluated: readonly EvaluatedBlocks[]): void {
    if (this.#entries.get(key) !== entry) return;
    const lineBytes = evaluated.reduce((sum, { piece }) => sum + (piece?.byteLength ?? 0), 0);
    entry.bytes += lineBytes;
    this.#bytes += lineBytes;
    for (const [oldKey, old] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#forget(oldKey, old);
    }
  }

  /** Those under way are forgotten too: whoever waits for one still gets it. */
  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
