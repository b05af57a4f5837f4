/**
 * Joins the updates of a stream to whole blocks. A block is complete when its meta has arrived and all its transactions, in any order and any
 * number of times.
 */
import type { BlockMeta, SubscribeUpdate, TransactionPart } from './subscribe-update.ts';

export interface WholeBlock {
  readonly meta: BlockMeta;
  /** In the order of the block. */
  readonly transactions: readonly TransactionPart[];
}

/** A block of which parts are missing. */
interface OpenBlock {
  readonly parts: Map<number, TransactionPart>;
  byteCount: number;
  meta: BlockMeta | undefined;
  /** Whether two different transactions arrived for one position, so that the parts belong to more than one block. */
  isMixed: boolean;
}

/**
 * Limits of the parts that wait for others. A node sends the parts of about three slots at a time; a replay sends slot after slot. The oldest
 * slot is dropped, and its block is missing then.
 */
const openCountMax = 64;
const openBytesMax = 256 * 1024 * 1024;

export class BlockAssembler {
  readonly #open = new Map<number, OpenBlock>();
  #byteCount = 0;
  #incompleteCount = 0;

  /** The number of blocks that were dropped because parts were missing or contradictory. */
  get incompleteCount(): number {
    return this.#incompleteCount;
  }

  /** Takes an update. Returns the block that it completes. */
  add(update: SubscribeUpdate): WholeBlock | undefined {
    switch (update.kind) {
      case 'block':
        return this.#takeWhole(update);
      case 'block-meta': {
        const block = this.#openSlot(update.meta.slot);
        block.meta = update.meta;
        return this.#complete(update.meta.slot, block);
      }
      case 'transaction': {
        const block = this.#openSlot(update.slot);
        this.#addPart(block, update.transaction);
        return this.#complete(update.slot, block);
      }
      default:
        return undefined;
    }
  }

  /** Forgets the parts of a slot whose block was abandoned. */
  drop(slot: number): void {
    const block = this.#open.get(slot);
    if (block === undefined) return;
    this.#open.delete(slot);
    this.#byteCount -= block.byteCount;
  }

  #takeWhole({ meta, transactions }: WholeBlock): WholeBlock | undefined {
    const block: OpenBlock = { parts: new Map(), byteCount: 0, meta, isMixed: false };
    for (const part of transactions) this.#addPart(block, part);
    this.#byteCount -= block.byteCount;
    if (!isComplete(block, meta)) {
      this.#incompleteCount++;
      return undefined;
    }
    return { meta, transactions: inOrder(block) };
  }

  #openSlot(slot: number): OpenBlock {
    const known = this.#open.get(slot);
    if (known !== undefined) return known;
    while (this.#open.size >= openCountMax || this.#byteCount > openBytesMax) {
      this.drop(Math.min(...this.#open.keys()));
      this.#incompleteCount++;
    }
    const block: OpenBlock = { parts: new Map(), byteCount: 0, meta: undefined, isMixed: false };
    this.#open.set(slot, block);
    return block;
  }

  #addPart(block: OpenBlock, part: TransactionPart): void {
    const known = block.parts.get(part.index);
    if (known !== undefined) {
      block.isMixed ||= Buffer.compare(known.transaction, part.transaction) !== 0;
      return;
    }
    block.parts.set(part.index, part);
    const byteCount = part.transaction.length + (part.meta?.length ?? 0);
    block.byteCount += byteCount;
    this.#byteCount += byteCount;
  }

  #complete(slot: number, block: OpenBlock): WholeBlock | undefined {
    const { meta } = block;
    if (meta === undefined || !isComplete(block, meta)) return undefined;
    this.drop(slot);
    return { meta, transactions: inOrder(block) };
  }
}

function isComplete({ parts, isMixed }: OpenBlock, { transactionCount }: BlockMeta): boolean {
  if (isMixed || parts.size !== transactionCount) return false;
  // As many different positions as transactions, none of them beyond the last one, are all positions.
  for (const index of parts.keys()) if (index >= transactionCount) return false;
  return true;
}

function inOrder({ parts }: OpenBlock): TransactionPart[] {
  return [...parts.values()].sort((a, b) => a.index - b.index);
}
