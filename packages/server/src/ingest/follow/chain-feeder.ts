/** Links prepared blocks and commits them. While the disk is full or failing, it retries. */
import type { Clock } from '@sluice/base/clock';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import {
  checkLink,
  headLinkPoint,
  linkedHeight,
  type ParentPoint,
} from '../../chain/link-block.ts';
import type { NewChange } from '../../dataset/chain-writer.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { type PreparedBlock, withHeader } from '../prepare/prepared-block.ts';

/** The wait before a failed write is retried. */
const diskRetryMs = 1_000;

export type FeedOutcome =
  | { readonly kind: 'committed'; readonly snapshot: ChainSnapshot }
  /** A rule of the chain rejected the change. */
  | { readonly kind: 'refused'; readonly error: CodedError };

export class ChainFeeder {
  readonly #dataset: Dataset;
  readonly #clock: Clock;
  #lastGrownMs: number;

  constructor(dependencies: { readonly dataset: Dataset; readonly clock: Clock }) {
    this.#dataset = dependencies.dataset;
    this.#clock = dependencies.clock;
    this.#lastGrownMs = dependencies.clock.nowMs();
  }

  get lastGrownMs(): number {
    return this.#lastGrownMs;
  }

  /** The state that the next block must link to. */
  get pending(): ChainSnapshot {
    return this.#dataset.pendingSnapshot();
  }

  /** Returns the block as a child of the head, or the error if it is not a child. */
  linkToHead(prepared: PreparedBlock): PreparedBlock | CodedError {
    return linkBlock(headLinkPoint(this.pending), prepared);
  }

  /** Adds a block that `linkToHead` returned. */
  extend(prepared: PreparedBlock, signal: AbortSignal): Promise<FeedOutcome> {
    return this.#grow([{ kind: 'extend', blocks: [prepared] }], signal);
  }

  /** Replaces the blocks above one of our blocks by a branch. */
  replace(
    ancestor: BlockRef,
    branch: readonly PreparedBlock[],
    signal: AbortSignal,
  ): Promise<FeedOutcome> {
    return this.#grow([{ kind: 'replace', ancestor, blocks: branch }], signal);
  }

  async #grow(changes: readonly NewChange[], signal: AbortSignal): Promise<FeedOutcome> {
    const outcome = await this.commit(changes, signal);
    if (outcome.kind === 'committed') this.#lastGrownMs = this.#clock.nowMs();
    return outcome;
  }

  /** Makes changes durable. Retries while the disk is full or failing. */
  async commit(changes: readonly NewChange[], signal: AbortSignal): Promise<FeedOutcome> {
    for (;;) {
      try {
        return { kind: 'committed', snapshot: await this.#dataset.commit(changes) };
      } catch (error) {
        if (!isCodedError(error)) throw error;
        if (error.code.startsWith('chain-')) return { kind: 'refused', error };
        if (signal.aborted || error.code === 'dataset-closed') throw error;
        await this.#recover(error, signal);
        // Commits that waited behind the failed write are lost, so this block may no longer link and is loaded again.
        if (error.code === 'dataset-write-failed') return { kind: 'refused', error };
      }
    }
  }

  async #recover(error: CodedError, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(diskRetryMs, signal);
    if (error.code !== 'dataset-write-failed') return;
    await this.#dataset.reopen().catch((failure: unknown) => {
      if (!isCodedError(failure)) throw failure;
    });
  }
}

export function linkBlock(
  parent: ParentPoint,
  prepared: PreparedBlock,
): PreparedBlock | CodedError {
  const header = linkHeader(parent, prepared.header);
  if (isCodedError(header)) return header;
  return header === prepared.header ? prepared : withHeader(prepared, header);
}

/** Adds the values that only the parent knows, then checks the link. */
export function linkHeader(parent: ParentPoint, header: BlockHeader): BlockHeader | CodedError {
  const filled = fillHeader(parent, header);
  try {
    checkLink(parent, filled);
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  return filled;
}

/**
 * Adds the height if the source has none. Adds the parent's hash if an archive omitted it and both slot and height identify
 * the stored parent.
 */
function fillHeader(parent: ParentPoint, header: BlockHeader): BlockHeader {
  const height = linkedHeight(parent, header);
  const isIdentified =
    parent !== null &&
    header.parentHash === null &&
    header.parentSlot === parent.number &&
    header.height !== null &&
    parent.height !== null &&
    header.height === parent.height + 1;
  const parentHash = isIdentified ? parent.hash : header.parentHash;
  if (height === header.height && parentHash === header.parentHash) return header;
  return { ...header, height, parentHash };
}
