/** Checks that a block is the child of another. Every block that enters a chain passes this check. */
import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import type { ChainSnapshot } from './chain-snapshot.ts';

/** A block as its children must refer to it. Null fields are unknown, as for an anchor that was never read. */
export interface LinkPoint {
  readonly number: Slot;
  readonly hash: BlockHash | null;
  readonly height: number | null;
}

/** Null stands for the missing parent of slot 0. */
export type ParentPoint = LinkPoint | null;

/** Returns the block that a child of the head must refer to. */
export function headLinkPoint(snapshot: ChainSnapshot): ParentPoint {
  const hot = snapshot.hot.at(-1);
  if (hot !== undefined) return hot.header;
  const segment = snapshot.segments.at(-1);
  if (segment !== undefined) return { ...segment.last, height: segment.lastHeight };
  return snapshot.anchor === null ? null : { ...snapshot.anchor, height: null };
}

/** Returns the height of a child: the value from its source, otherwise its parent's height plus one, otherwise null. */
export function linkedHeight(parent: ParentPoint, header: BlockHeader): number | null {
  if (header.height !== null) return header.height;
  if (parent === null) return 0;
  return parent.height === null ? null : parent.height + 1;
}

/**
 * Throws unless the block is a child of the parent by slot, hash and height. The hash alone is not enough: a wrong
 * parent slot would store a wrong gap.
 */
export function checkLink(parent: ParentPoint, header: BlockHeader): void {
  if (parent === null) {
    checkGenesis(header);
    return;
  }
  const { number, parentSlot, parentHash, height } = header;
  if (number <= parent.number || parentSlot !== parent.number || parentHash !== parent.hash) {
    throw new CodedError('chain-not-linked', {
      slot: number,
      parentSlot,
      parentHash,
      expectedParentSlot: parent.number,
      expectedParentHash: parent.hash,
    });
  }
  if (parent.height !== null && height !== parent.height + 1) {
    const expectedHeight = parent.height + 1;
    throw new CodedError('chain-height-wrong', { slot: number, height, expectedHeight });
  }
}

function checkGenesis(header: BlockHeader): void {
  if (header.number !== 0 || header.parentSlot !== 0 || header.parentHash !== null) {
    throw new CodedError('chain-not-linked', {
      slot: header.number,
      parentSlot: header.parentSlot,
      expectedParentSlot: 'none: the ledger begins at slot 0',
    });
  }
  if (header.height !== 0) {
    throw new CodedError('chain-height-wrong', {
      slot: 0,
      height: header.height,
      expectedHeight: 0,
    });
  }
}
