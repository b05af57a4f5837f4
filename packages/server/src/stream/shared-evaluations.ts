/** Each new block is evaluated once per distinct query, for all who follow. */
import { assert } from '../base/assert.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../chain/find-blocks.ts';
import type { Selection } from '../query/query.ts';
import { queryKey } from '../query/query-key.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';

export interface SharedJob {
  readonly selection: Selection;
  readonly snapshot: ChainSnapshot;
  readonly first: number;
  readonly last: number;
  /** Names the blocks of the range. */
  readonly blocks: string;
}

/**
 * What to evaluate first of a short range that ends at the head. One block, so that those who come from different ones
 * share what they have in common, and nobody holds more than he sends; all of it where it is sealed already.
 */
export function nextSharedJob(job: Omit<SharedJob, 'blocks'>): SharedJob {
  const { snapshot, first, last } = job;
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, first)]?.header;
  const isHot = firstSegmentEndingAtOrAfter(snapshot, first) === snapshot.segments.length;
  if (isHot && block !== undefined && block.number <= last) {
    return { ...job, last: block.number, blocks: block.hash };
  }
  const tip = snapshot.head;
  assert(tip !== null, 'a dataset with blocks to evaluate has a head');
  // The chain up to a block is what its hash says.
  return { ...job, blocks: `${first}-${last}@${tip.hash}` };
}

/** What an entry without lines costs; without it the empty ones would never be forgotten. */
const entryBytes = 1024;

/** Distinct queries that are remembered; a query is some kilobytes at most. */
const idCountMax = 10_000;

interface Entry {
  readonly evaluated: Promise<readonly EvaluatedBlocks[]>;
  bytes: number;
}

export class SharedEvaluations {
  /** In the order of use: the first is the one to forget. */
  readonly #entries = new Map<string, Entry>();
  readonly #evaluator: BlockEvaluator;
  readonly #bytesMax: number;
  readonly #ids = new WeakMap<Selection, number>();
  readonly #idsByText = new Map<string, number>();
  #nextId = 0;
  #bytes = 0;

  constructor(options: { readonly bytesMax: number }, evaluator: BlockEvaluator) {
    this.#bytesMax = options.bytesMax;
    this.#evaluator = evaluator;
  }

  /** Of what is kept or under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A number for what is asked, the same for those who ask the same: the text of a query is too long to look up at each block. */
  idOf(selection: Selection): number {
    let id = this.#ids.get(selection);
    if (id === undefined) {
      const text = queryKey(selection);
      id = this.#idsByText.get(text) ?? this.#nextId++;
      // Those who come after that share among themselves.
      if (this.#idsByText.size >= idCountMax) this.#idsByText.clear();
      this.#idsByText.set(text, id);
      this.#ids.set(selection, id);
    }
    return id;
  }

  /** As the evaluator, once for all who ask the same. */
  evaluate(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    const key = `${job.blocks} ${this.idOf(job.selection)}`;
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

  async #run(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    // The work is everyone's: the end of the one response that began it does not stop it.
    const signal = new AbortController().signal;
    const evaluated: EvaluatedBlocks[] = [];
    const urgent = { ...job, isUrgent: true, signal };
    for await (const blocks of this.#evaluator.evaluate(urgent)) evaluated.push(blocks);
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
