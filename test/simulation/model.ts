/**
 * What the service may show. A state is the head, the finalized head and the start of a dataset; the ledger knows the branch of each head.
 * Every state must follow from the one before it by a rule, also across crashes, and every response must be the response to some state that
 * was visible while the request was open.
 */

import type { BlockRef } from '../../packages/ledger/src/block.ts';
import type { ChainSnapshot } from '../../packages/server/src/chain/chain-snapshot.ts';
import type { Retention } from '../../packages/server/src/dataset/retention.ts';
import {
  answerBlock,
  headerLine,
} from '../../packages/server/src/engine/testing/reference/answer-query.ts';
import type { Query } from '../../packages/server/src/query/query.ts';
import type { Ledger, LedgerBlock } from './ledger.ts';

export class Violation extends Error {
  override readonly name = 'Violation';
}

export function must(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new Violation(rule);
}

export interface State {
  readonly snapshot: ChainSnapshot;
  readonly head: LedgerBlock | null;
  readonly finalized: LedgerBlock | null;
  readonly start: number;
}

export interface Request {
  readonly query: Query;
  readonly from: number;
  readonly to: number | undefined;
  readonly parentHash: string | undefined;
  readonly finalizedOnly: boolean;
  /** The states that were visible while the request was open, oldest first. */
  readonly states: readonly State[];
  readonly durationMs: number;
}

/** A header-only line reports progress after this time without a line. */
const markMs = 5_000;
/** A request above the head waits this long for a block. */
const waitMs = 5_000;
const previousBlockCountMax = 100;

export class Model {
  readonly #ledger: Ledger;
  readonly #retention: Retention;
  /** The lines of the reference engine by query and block. */
  readonly #lines = new Map<Query, Map<string, string | undefined>>();
  #isNewlyNumbered = false;
  /** The visible states, oldest first. */
  readonly states: State[] = [];

  constructor(ledger: Ledger, retention: Retention) {
    this.#ledger = ledger;
    this.#retention = retention;
  }

  get current(): State | undefined {
    return this.states.at(-1);
  }

  /** The next state may have any version. All other rules hold. */
  expectNewVersions(): void {
    this.#isNewlyNumbered = true;
  }

  /** Called with each state that becomes visible, also with the first one after a restart. */
  observe(snapshot: ChainSnapshot): void {
    const before = this.current;
    const head = this.#known(snapshot.head);
    const finalized = this.#known(snapshot.finalized);
    if (!this.#isNewlyNumbered) this.#checkVersion(before, { snapshot, head, finalized });
    this.#isNewlyNumbered = false;
    const state = { snapshot, head, finalized, start: snapshot.start ?? 0 };
    this.#checkChain(state);
    if (before !== undefined) this.#checkStep(before, state);
    this.states.push(state);
  }

  #checkVersion(
    before: State | undefined,
    { snapshot, head, finalized }: Omit<State, 'start'>,
  ): void {
    if (before?.snapshot.version === snapshot.version) {
      const isSame = before.head === head && before.finalized === finalized;
      must(isSame, 'a restart brings back the last state');
      must(before.snapshot.start === snapshot.start, 'a restart brings back the start');
      must(
        hashesOf(before.snapshot) === hashesOf(snapshot),
        'a restart brings back replaced hashes',
      );
    }
    must((before?.snapshot.version ?? 0) <= snapshot.version, 'no state is lost');
  }

  #checkChain({ snapshot, head, finalized, start }: State): void {
    const { hot, segments, anchor } = snapshot;
    let below = segments.at(-1)?.last.hash ?? (hot.length > 0 ? (anchor?.hash ?? null) : null);
    for (const { header } of hot) {
      must(header.parentHash === below, 'each block links to the one below');
      must(
        this.#ledger.find(header.hash)?.header.number === header.number,
        'a slot is the block’s',
      );
      below = header.hash;
    }
    must((head?.hash ?? null) === below || hot.length === 0, 'the head is the last block');
    if (anchor?.hash != null && head !== null) {
      const bottom = this.#ledger.find(anchor.hash);
      must(bottom !== undefined && this.#ledger.isOn(bottom, head), 'the anchor is on the branch');
      must(start === bottom.slot + 1, 'the start is above the anchor');
    }
    if (finalized === null) return;
    must(
      head !== null && this.#ledger.isOn(finalized, head),
      'the finalized head is on the branch',
    );
    const isFinal = finalized.depth <= this.#ledger.finalDepth;
    must(isFinal && this.#ledger.chain[finalized.depth] === finalized, 'the ledger finalized it');
  }

  #checkStep(before: State, after: State): void {
    const { finalized } = before;
    if (finalized !== null) {
      const isOn = after.finalized !== null && this.#ledger.isOn(finalized, after.finalized);
      must(isOn, 'the finalized head never falls and never changes');
    }
    if (before.snapshot.start === null || after.start === before.start) return;
    const isTrim = after.start > before.start;
    must(!isTrim || this.#retention.kind !== 'all', 'nothing is removed without a policy');
    if (this.#retention.kind !== 'blocks' || !isTrim || after.head === null) return;
    const anchor = this.#ledger.find(after.snapshot.anchor?.hash ?? '');
    const count = after.head.depth - (anchor?.depth ?? 0);
    must(count >= this.#retention.count, 'the retention policy keeps its blocks');
  }

  /** Checks the lines of a response with status 200. `isWhole` says whether it ended properly. Returns the last covered block. */
  checkLines(
    request: Request,
    lines: readonly string[],
    isWhole: boolean,
  ): LedgerBlock | undefined {
    const { query, from, to, parentHash, finalizedOnly, states } = request;
    const blocks = lines.map((line) => this.#blockOf(line));
    const last = blocks.at(-1);
    if (last === undefined) {
      const isProved = ({ head, start }: State) =>
        head !== null && to !== undefined && start <= from && head.slot >= to;
      const isEmpty = (state: State) =>
        isProved(state) && (this.#below(state.head, (to ?? 0) + 1)?.slot ?? -1) < from;
      must(!isWhole || states.some(isEmpty), 'an empty response means that all slots were skipped');
      return undefined;
    }
    must(last.slot <= (to ?? last.slot), 'no block is above the range');
    const tipOf = (state: State) => (finalizedOnly ? state.finalized : state.head);
    const isShown = (state: State) => {
      const tip = tipOf(state);
      return tip !== null && tip.slot >= last.slot && this.#ledger.isOn(last, tip);
    };
    must(states.some(isShown), 'the blocks were on one visible branch');
    must(
      states.some(({ start }) => start <= from),
      'the range begins at or above the start',
    );
    let at: LedgerBlock | null = last;
    let next = lines.length - 1;
    for (; at !== null && at.slot >= from; at = at.parent) {
      const isSent = blocks[next] === at;
      const expected = this.#lineOf(query, at);
      must(expected === undefined || isSent, `a matching block is missing: ${at.slot}`);
      if (!isSent) continue;
      const isMark = at === last || request.durationMs >= markMs;
      const text = expected ?? (isMark ? headerLine(query, at.block) : undefined);
      must(lines[next] === text, `the line of block ${at.slot} is wrong: ${lines[next]}`);
      next--;
    }
    must(next === -1, 'all lines are of the branch and in the range');
    const isRight = parentHash === undefined || at === null || at.hash === parentHash;
    must(isRight, 'the first block is a child of the requested parent');
    return last;
  }

  /** Checks a 204, which says that the range is above the data after the wait. */
  checkNone(request: Request): void {
    const { from, parentHash, finalizedOnly, states } = request;
    const tipOf = ({ head, finalized }: State) => (finalizedOnly ? finalized : head);
    const slotOf = (state: State) => tipOf(state)?.slot ?? -1;
    // A wrong parent directly above the newest block is a conflict.
    const isOpen = (state: State) => {
      const tip = tipOf(state);
      return tip === null || from > tip.slot + 1 || tip.hash === parentHash;
    };
    must(
      parentHash === undefined || states.some(isOpen),
      'a wrong parent at the head is a conflict',
    );
    must(
      states.some((state) => slotOf(state) < from),
      'a 204 is for a range above the data',
    );
    this.checkWait(request);
  }

  checkWait({ durationMs }: Request): void {
    must(durationMs >= waitMs, 'a 204 is sent after the wait');
  }

  /** Checks a 409, which proves that the parent of the request is not on our branch. */
  checkConflict(
    { from, parentHash, states, finalizedOnly }: Request,
    previous: readonly BlockRef[],
  ) {
    must(parentHash !== undefined, 'a conflict needs a parent');
    const count = previous.length;
    must(count >= 1 && count <= previousBlockCountMax, 'a conflict lists 1 to 100 blocks');
    const blocks = previous.map(({ hash }) => this.#ledger.find(hash));
    const isLinked = blocks.every(
      (block, i) => block !== undefined && (i === 0 || block.parent === blocks[i - 1]),
    );
    must(isLinked, 'the blocks of a conflict are linked');
    const isProof = (state: State) => {
      const tip = finalizedOnly ? state.finalized : state.head;
      const below = this.#below(tip, from);
      return below !== undefined && below === blocks.at(-1) && below.hash !== parentHash;
    };
    must(states.some(isProof), 'a conflict is proved by a visible branch');
  }

  checkBelowStart({ from, states }: Request): void {
    must(
      states.some(({ start }) => from < start),
      'only a range below the start is rejected',
    );
  }

  /** Returns the highest block of a branch below a slot. */
  #below(tip: LedgerBlock | null, slot: number): LedgerBlock | undefined {
    let at = tip;
    while (at !== null && at.slot >= slot) at = at.parent;
    return at ?? undefined;
  }

  #known(ref: BlockRef | null): LedgerBlock | null {
    if (ref === null) return null;
    const found = this.#ledger.find(ref.hash);
    must(found !== undefined && found.slot === ref.number, 'a visible block exists in the ledger');
    return found;
  }

  #blockOf(line: string): LedgerBlock {
    const [, hash = ''] = /"hash":"(\w+)"/.exec(line) ?? [];
    const found = this.#ledger.find(hash);
    must(found !== undefined, `a line is of a block of the ledger: ${line}`);
    return found;
  }

  #lineOf(query: Query, { block, hash }: LedgerBlock): string | undefined {
    let lines = this.#lines.get(query);
    if (lines === undefined) {
      lines = new Map();
      this.#lines.set(query, lines);
    }
    if (!lines.has(hash)) lines.set(hash, answerBlock(query, block));
    return lines.get(hash);
  }
}

function hashesOf({ replaced }: ChainSnapshot): string {
  return [...replaced.keys()].join();
}
