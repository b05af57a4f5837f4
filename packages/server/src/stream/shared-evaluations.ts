/** Each new block is evaluated once per distinct query, for all who follow. */
import { assert } from '../base/assert.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../chain/find-blocks.ts';
import type { TextForm } from '../engine/engine-messages.ts';
import type { Selection } from '../query/query.ts';
import { queryKey } from '../query/query-key.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { selectsFinalizedHead } from './finalized-head-evaluator.ts';
import { LinePiece } from './line-piece.ts';

export interface SharedJob {
  readonly selection: Selection;
  readonly snapshot: ChainSnapshot;
  readonly first: number;
  readonly last: number;
  /** Whether the first who asks wants the lines compressed: then they come so. */
  readonly isDeflated: boolean;
  /** Names the blocks of the range. */
  readonly blocks: string;
}

/** Slots that are evaluated together, where so many are there. */
const batchSlotCount = 16;
/** Lines of neighbouring blocks are put together up to this: one piece is one compression, and one write to each reader. */
export const batchBytesMax = 1 << 18;

/**
 * What to evaluate first of a short range that ends at the head. Near the head one block, so that those who come from
 * different ones share each; further below a batch between fixed slots, which costs little more than a block.
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

/** The finalized head, where the lines name it: lines that name different ones are different. */
function finality({ selection, snapshot }: Omit<SharedJob, 'blocks'>): string {
  return selectsFinalizedHead(selection) ? `^${snapshot.finalized?.hash ?? ''}` : '';
}

/** Whether a slot is among the sealed ones. */
function isSealed(snapshot: ChainSnapshot, slot: number): boolean {
  return firstSegmentEndingAtOrAfter(snapshot, slot) < snapshot.segments.length;
}

/** Names the chain up to a slot: what is sealed is final, and above it a block's hash stands for all that is below. */
function chainAt(snapshot: ChainSnapshot, slot: number): string {
  if (isSealed(snapshot, slot)) return 'final';
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot)];
  assert(block !== undefined, 'what is evaluated is not above the head');
  return block.header.hash;
}

/** A reader that is behind is given this much at a time: a write costs as much as many kilobytes. */
const someBytesGoal = 1 << 16;

/** What an entry without lines costs; without it the empty ones would never be forgotten. */
const entryBytes = 1024;

/** Texts of distinct queries that are remembered: ten thousand of a kilobyte, or some dozen of the longest. */
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
  /** In the order of use: the first is the one to forget. */
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

  /** Of what is kept or under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A number for what is asked, the same for those who ask the same: the text of a query is too long to look up at each block. */
  idOf(selection: Selection): number {
    return this.#ids.get(selection) ?? this.#know(selection).id;
  }

  /** Of equal selections the one that others hold already: thousands who ask the same need not hold thousands. */
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
    // Those who come after that share among themselves.
    if (this.#knownTextLength >= knownTextLengthMax) {
      this.#known.clear();
      this.#knownTextLength = 0;
    }
    if (!this.#known.has(text)) this.#knownTextLength += text.length;
    this.#known.set(text, known);
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

  /** As many of a short range as one write should hold, from its first block on. */
  async evaluateSome(
    range: Omit<SharedJob, 'blocks'>,
  ): Promise<{ readonly blocks: readonly EvaluatedBlocks[]; readonly last: number }> {
    const blocks: EvaluatedBlocks[] = [];
    let byteLength = 0;
    for (let { first } = range; ; ) {
      const job = nextSharedJob({ ...range, first });
      for (const one of await this.evaluate(job)) {
        blocks.push(one);
        byteLength += one.piece?.byteLength ?? 0;
      }
      if (job.last === range.last || byteLength >= someBytesGoal) return { blocks, last: job.last };
      first = job.last + 1;
    }
  }

  async #run(job: SharedJob): Promise<readonly EvaluatedBlocks[]> {
    // The work is everyone's: the end of the one response that began it does not stop it.
    const signal = new AbortController().signal;
    const form: TextForm = job.isDeflated ? 'deflated' : 'plain';
    const urgent = { ...job, form, isUrgent: true, signal };
    const evaluated: EvaluatedBlocks[] = [];
    let batch: Batch | undefined;
    try {
      for await (const blocks of this.#evaluator.evaluate(urgent)) {
        if (batch !== undefined && joinTo(batch, blocks)) continue;
        if (batch !== undefined) evaluated.push(keep(batch));
        batch = { last: blocks, pieces: piecesOf(blocks) };
      }
      if (batch !== undefined) evaluated.push(keep(batch));
      batch = undefined;
      return evaluated;
    } finally {
      for (const piece of batch?.pieces ?? []) piece.release();
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

  /** Those under way are forgotten too: whoever waits for one still gets it. */
  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

/** Neighbouring blocks whose lines are to be put together. */
interface Batch {
  last: EvaluatedBlocks;
  pieces: readonly LinePiece[];
}

/** Makes one of neighbours, unless that would be too much text. */
function joinTo(batch: Batch, after: EvaluatedBlocks): boolean {
  const pieces = [...batch.pieces, ...piecesOf(after)];
  const byteLength = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (pieces.length > 1 && byteLength > batchBytesMax) return false;
  batch.last = after;
  batch.pieces = pieces;
  return true;
}

function piecesOf({ piece }: EvaluatedBlocks): readonly LinePiece[] {
  return piece === null ? [] : [piece];
}

/** In memory of its own: what the engine lent goes back to it. */
function keep({ last, pieces }: Batch): EvaluatedBlocks {
  return { ...last, piece: pieces.length === 0 ? null : LinePiece.keep(pieces) };
}
