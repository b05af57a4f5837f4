/** Extends the chain by blocks of one source. A block that does not link goes to the branch resolver. */
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import type { LoadedBlock } from './block-loader.ts';
import type { BranchResolver } from './branch-resolver.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import type { FollowedSource } from './followed-source.ts';
import { headSlot } from './own-blocks.ts';
import type { SourceJudge } from './source-judge.ts';

export interface ExtenderDependencies {
  readonly source: FollowedSource;
  readonly feeder: ChainFeeder;
  readonly counters: IngestCounters;
  readonly judge: SourceJudge;
  readonly branches: BranchResolver;
  /** Called after each block that was stored. */
  readonly onGrown: () => void;
}

/** Linking continues while this many commits are in progress. */
const commitsInProgressMax = 32;

export class HeadExtender {
  readonly #dependencies: ExtenderDependencies;

  constructor(dependencies: ExtenderDependencies) {
    this.#dependencies = dependencies;
  }

  /** Adds blocks in order until one cannot be loaded or linked. Returns whether at least one was added. */
  async extendAll(
    blocks: AsyncIterable<LoadedBlock>,
    signal: AbortSignal,
    mayContinue: () => boolean = () => true,
  ): Promise<boolean> {
    const { source, feeder, judge } = this.#dependencies;
    const commits: Promise<boolean>[] = [];
    let count = 0;
    for await (const loaded of blocks) {
      if (signal.aborted || !mayContinue()) break;
      if (loaded.kind !== 'loaded') {
        judge.rejectLoad(loaded);
        break;
      }
      const linked = feeder.linkToHead(loaded.prepared);
      if (isCodedError(linked)) {
        await Promise.all(commits);
        return (await this.#rejectLink(loaded.prepared.header, linked, signal)) || count > 0;
      }
      source.health.responded();
      if (!(await judge.isAgreed(linked.header, signal))) break;
      count++;
      const commit = this.#commit(linked, signal);
      // It is awaited below. Without this, a failure while the next block is loaded would end the process.
      commit.catch(() => undefined);
      commits.push(commit);
      if (commits.length >= commitsInProgressMax) await commits.shift();
    }
    await Promise.all(commits);
    return count > 0;
  }

  /** Adds one block. Returns whether the chain has grown. */
  async extend(prepared: PreparedBlock, signal: AbortSignal): Promise<boolean> {
    const { feeder, judge } = this.#dependencies;
    const linked = feeder.linkToHead(prepared);
    if (isCodedError(linked)) return this.#rejectLink(prepared.header, linked, signal);
    if (!(await judge.isAgreed(linked.header, signal))) return false;
    return this.#commit(linked, signal);
  }

  async #commit(linked: PreparedBlock, signal: AbortSignal): Promise<boolean> {
    const { feeder, judge, counters, onGrown } = this.#dependencies;
    counters.countBlock(linked.counts);
    const outcome = await feeder.extend(linked, signal);
    if (outcome.kind !== 'committed') return judge.rejectCommit(linked, outcome.error);
    onGrown();
    return true;
  }

  async #rejectLink(header: BlockHeader, error: CodedError, signal: AbortSignal): Promise<boolean> {
    const { feeder, judge, branches } = this.#dependencies;
    // The source is not at fault if another one was faster, or if a fork came in between.
    if (header.number <= headSlot(feeder.pending)) return false;
    if (error.code !== 'chain-not-linked') return judge.strikeFor(error);
    return branches.resolve(header, signal);
  }
}
