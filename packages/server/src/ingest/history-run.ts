/**
 * Older blocks in memory, linked downwards from the first stored one. A block's own words about its parent are believed
 * once that parent has come: until then the lowest block may be taken back, and is not stored.
 *
 *   lowest ──► … ──► highest ──► first stored block
 *   └ its parent has not come yet
 */
import { type CodedError, isCodedError } from '../base/errors.ts';
import { checkLink } from '../chain/link-block.ts';
import type { BlockHeader } from '../ledger/block.ts';
import { linkBlock } from './chain-feeder.ts';
import { type PreparedBlock, withHeader } from './prepared-block.ts';

export class HistoryRun {
  /** The first stored block, or the one that will be: the run's highest block is its parent. */
  #above: BlockHeader;
  /** Descending. */
  #blocks: PreparedBlock[] = [];
  #bytes = 0;

  constructor(above: BlockHeader) {
    this.#above = above;
  }

  /** The block whose parent is wanted next. */
  get lowest(): BlockHeader {
    return this.#blocks.at(-1)?.header ?? this.#above;
  }

  get blockCount(): number {
    return this.#blocks.length;
  }

  get byteLength(): number {
    return this.#bytes;
  }

  /** Adds the parent of the lowest block; answers with the reason if it is not that. */
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

  /** Gives up the lowest block: what it says of its parent may be false. */
  takeBack(): void {
    const given = this.#blocks.pop();
    this.#bytes -= given?.bytes.byteLength ?? 0;
  }

  /** Hands over the blocks, ascending; the lowest stays unless it is wanted too. */
  take(withLowest: boolean): PreparedBlock[] {
    const kept = withLowest ? [] : this.#blocks.slice(-1);
    const taken = withLowest ? this.#blocks : this.#blocks.slice(0, -1);
    this.#above = taken.at(-1)?.header ?? this.#above;
    this.#blocks = kept;
    this.#bytes = kept.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    return taken.toReversed();
  }
}

/** Old blocks do not know their height; here the child does. */
function withHeight(offered: PreparedBlock, child: BlockHeader): PreparedBlock {
  const { header } = offered;
  if (header.height !== null || child.height === null || header.number === 0) return offered;
  return withHeader(offered, { ...header, height: child.height - 1 });
}

/** A stored block is as it is: nothing of it can be filled in. */
function check(parent: PreparedBlock, stored: BlockHeader): CodedError | undefined {
  try {
    checkLink(parent.header, stored);
    return undefined;
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
}
