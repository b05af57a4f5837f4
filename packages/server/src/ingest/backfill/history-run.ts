/**
 * Older blocks in memory, linked downwards from the first stored block. The parent hash of a block is only verified when the
 * parent is loaded. Until then the lowest block can be removed and is not stored.
 *
 *   lowest ──► … ──► highest ──► first stored block
 *   └ its parent is not loaded yet
 */
import { assert } from '@sluice/base/assert';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { checkLink } from '../../chain/link-block.ts';
import { linkBlock } from '../follow/chain-feeder.ts';
import { type PreparedBlock, withHeader } from '../prepare/prepared-block.ts';

export class HistoryRun {
  /** The block above the run: the first stored one, or the first one that is being stored. */
  #above: BlockHeader;
  /** Descending. */
  #blocks: PreparedBlock[] = [];
  #bytes = 0;

  constructor(above: BlockHeader) {
    this.#above = above;
  }

  /** The block whose parent is loaded next. */
  get lowest(): BlockHeader {
    return this.#blocks.at(-1)?.header ?? this.#above;
  }

  get blockCount(): number {
    return this.#blocks.length;
  }

  get byteLength(): number {
    return this.#bytes;
  }

  /** Adds the parent of the lowest block. Returns the error if the block is not the parent. */
  add(offered: PreparedBlock): CodedError | undefined {
    const child = this.lowest;
    const parent = withHeight(offered, child);
    const below = this.#blocks.at(-1);
    const linked = below === undefined ? check(parent, child) : linkBlock(parent.header, below);
    if (isCodedError(linked)) return linked;
    if (below !== undefined && linked !== undefined) this.#blocks.splice(-1, 1, linked);
    this.#blocks.push(parent);
    this.#bytes += parent.bytes.byteLength;
    return undefined;
  }

  /** Adds the parent hash to the lowest block if its source does not have it, as archives do not. */
  completeLowest(parent: BlockHeader): void {
    const lowest = this.#blocks.at(-1);
    if (lowest === undefined || lowest.header.parentHash !== null) return;
    const linked = linkBlock(parentPoint(parent, lowest.header), lowest);
    if (!isCodedError(linked)) this.#blocks.splice(-1, 1, linked);
  }

  /** Continues below history that was stored in another way, after all blocks of the run were taken. */
  continueBelow(first: BlockHeader): void {
    assert(this.#blocks.length === 0, 'no block is skipped');
    this.#above = first;
  }

  /** Removes the lowest block, because its parent hash may be wrong. */
  takeBack(): void {
    const given = this.#blocks.pop();
    this.#bytes -= given?.bytes.byteLength ?? 0;
  }

  /** Removes and returns the blocks, ascending. The lowest block stays unless `withLowest` is set. */
  take(withLowest: boolean): PreparedBlock[] {
    const kept = withLowest ? [] : this.#blocks.slice(-1);
    const taken = withLowest ? this.#blocks : this.#blocks.slice(0, -1);
    this.#above = taken.at(-1)?.header ?? this.#above;
    this.#blocks = kept;
    this.#bytes = kept.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    return taken.toReversed();
  }
}

/** Returns the parent with the height that follows from its child if it has none. */
function parentPoint(parent: BlockHeader, child: BlockHeader): BlockHeader {
  if (parent.height !== null || child.height === null) return parent;
  return { ...parent, height: child.height - 1 };
}

/** Old blocks have no height; it follows from the height of the child. */
function withHeight(offered: PreparedBlock, child: BlockHeader): PreparedBlock {
  const { header } = offered;
  if (header.height !== null || child.height === null || header.number === 0) return offered;
  return withHeader(offered, parentPoint(header, child));
}

/** Checks the link to a stored block, which cannot be changed any more. */
function check(parent: PreparedBlock, stored: BlockHeader): CodedError | undefined {
  try {
    checkLink(parent.header, stored);
    return undefined;
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
}
