/** Evaluates each new block once per distinct query, for all streams at the head. */
import { assert } from '@sluice/base/assert';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter } from '../chain/find-blocks.ts';
import type { TextForm } from '../engine/threads/engine-messages.ts';
import type { Selection } from '../query/query.ts';
import { queryKey } from '../query/query-key.ts';
import { BlockCollector } from './block-collector.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { selectsFinalizedHead } from './finalized-head-evaluator.ts';

export interface SharedJob {
  readonly selection: Selection;
  readonly snapshot: ChainSnapshot;
  readonly first: number;
  readonly last: number;
  /** Whether the first stream wants compressed lines. */
  readonly isDeflated: boolean;
  /** Identifies the blocks of the range. */
  readonly blocks: string;
}

/** The number of slots that are evaluated together. */
const batchSlotCount = 16;

/**
 * Returns the first part of a short range that ends at the head. Near the head it is one block, so that streams at different
 * positions share each block. Further below it is a batch between fixed slots, which costs little more than a block.
 */
export function nextSharedJob(job: Omit<SharedJob, 'blocks'>): SharedJob {
  const { snapshot, first } = job;
  const batchEnd = first - (first % batchSlotCount) + batchSlotCount - 1;
  const isWhole = first % batchSlotCount === 0 && batchEnd <= job.last;
  const block = isSealed(snapshot, first)
    ? undefined
    : snapshot.hot[firstHotAtOrAfter(snapshot, first)];
  const end = isWhole || block === undefined ? batchEnd : block.header.number;
  const last = Math.min(job.last, end);
  return { ...job, last, blocks: `${first}-${last}@${chainAt(snapshot, last)}${finality(job)}` };
}

/** Returns the finalized head if the lines contain it, because lines with different ones are different. */
function finality({ selection, snapshot }: Omit<SharedJob, 'blocks'>): string {
  return selectsFinalizedHead(selection) ? `^${snapshot.finalized?.hash ?? ''}` : '';
}

/** Returns whether a slot is sealed. */
function isSealed(snapshot: ChainSnapshot, slot: number): boolean {
  return slot <= (snapshot.segments.at(-1)?.last.number ?? -1);
}

/** Identifies the chain up to a slot. Sealed blocks are final; above them the hash of a block identifies all blocks below. */
function chainAt(snapshot: ChainSnapshot, slot: number): string {
  if (isSealed(snapshot, slot)) return 'final';
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot)];
  assert(block !== undefined, 'evaluated blocks are not above the head');
  return block.header.hash;
}

/** The size of a write to a stream that is behind. The cost of a write is high compared to the cost per kilobyte. */
const someBytesGoal = 1 << 16;

/** The accounted size of an entry without lines, so that empty entries are evicted too. */
const entryBytes = 1024;

/** The limit of remembered query texts: ten thousand of a kilobyte, or some dozen of the longest. */
const knownTextLengthMax = 16 << 20;

interface KnownSelection {
  readonly id: number;
  readonly selection: WeakRef<Selection>;
}

interface Entry {
  readonly evaluated: Promise<readonly EvaluatedBlocks[]>;
  bytes: number;
}

export class SharedEvaluations {
  /** In the order of use; the first entry is evicted first. */
  readonly #entries = new Map<string, Entry>();
  readonly #evaluator: BlockEvaluator;
  readonly #bytesMax: number;
  readonly #ids = new WeakMap<Selection, number>();
  readonly #known = new Map<string, KnownSelection>();
  #knownTextLength = 0;
  #nextId = 0;
  #bytes = 0;

  constructor(options: { readonly bytesMax: number }, evaluator: BlockEvaluator) {
    this.#bytesMax = options.bytesMax;
    this.#evaluator = evaluator;
  }

  /** The size of all entries, including those in progress. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the same number for equal queries. The text of a query is too long to be looked up for every block. */
  idOf(selection: Selection): number {
    return this.#ids.get(selection) ?? this.#know(selection).id;
  }

  /** Returns one object for all equal selections, so that thousands of streams do not keep thousands of copies. */
  shareable(selection: Selection): Selection {
    return this.#know(selection).selection.deref() ?? selection;
  }

  #know(selection: Selection): KnownSelection {
    const text = queryKey(selection);
    const before = this.#known.get(text);
    if (before?.selection.deref() !== undefined) {
      this.#ids.set(selection, before.id);
      return before;
    }
    const known = { id: before?.id ?? this.#nextId++, selection: new WeakRef(selection) };
    this.#remember(text, known);
    this.#ids.set(selection, known.id);
    return known;
  }

  #remember(text: string, known: KnownSelection): void {
    // Later streams share a new entry.
    if (this.#knownTextLength >= knownTextLengthMax) {
      this.#known.clear();
      this.#knownTextLength = 0;
    }
    if (!this.#known.has(text)) this.#knownTextLength += text.length;
    this.#known.set(text, known);
  }

  /** Evaluates like the evaluator, but once for all equal requests. */
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

  /** Returns the first blocks of a short range, as many as fit into one write. */
  async evaluateSome(
    range: Omit<SharedJob, 'blocks'>,
  ): Promise<{ readonly blocks: readonly EvaluatedBlocks[]; readonly last: number }> {
    const blocks: EvaluatedBlocks[] = [];
    let byteLength = 0;
    for (let { first } = range; ; ) {
      const job = nextSharedJob({ ...range, first });
      for (const block of await this.evaluate(job)) {
        blocks.push(block);
        byteLength += block.piece?.byteLength ?? 0;
      }
      if (job.last === range.last || byteLength >= someBytesGoal) return { blocks, last: job.last };
      first = job.last + 1;
    }
  }

  async #run(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    // The evaluation is shared, so the end of the response that started it does not stop it.
    const signal = new AbortController().signal;
    const form: TextForm = job.isDeflated ? 'deflated' : 'plain';
    const urgent = { ...job, form, isUrgent: true, signal };
    const collector = new BlockCollector();
    try {
      for await (const blocks of this.#evaluator.evaluate(urgent)) collector.add(blocks);
      return collector.finish();
    } finally {
      collector.discard();
    }
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

  /** Evicts entries, including those in progress. Streams that wait for such an entry still get it. */
  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
