/**
 * The blocks that a stream has sent lately, and the chain that they form.
 *
 *   blocks   90 ── 91 ── 92 ── · ── 95 ── 96 ── 97     94 has not arrived
 *                               └ 93                   abandoned
 *   line                            95 ── 96 ── 97     linked, without a hole, up to the newest confirmed block
 *
 * Only the line is known: its blocks, and that all other slots between them were skipped.
 */
import type { BlockHeader } from '@sluice/ledger/block';

export interface HeldBlock {
  readonly header: BlockHeader;
  /** A `ConfirmedBlock`. */
  readonly bytes: Uint8Array;
}

/** The blocks that are kept: more than a node can replay, and enough for ingestion to be late by a minute. The oldest are dropped. */
const heldCountMax = 1_024;
const heldBytesMax = 256 * 1024 * 1024;
/** The number of slots that were reported as confirmed before their block arrived. */
const earlyCountMax = 256;

export class RecentChain {
  readonly #blocks = new Map<string, HeldBlock>();
  readonly #bytesMax: number;
  #byteCount = 0;
  /** Ascending. */
  #line: HeldBlock[] = [];
  /** Slots that are confirmed, and whose block has not arrived. */
  readonly #early = new Set<number>();
  #finalizedSlot = -1;

  constructor(bytesMax = heldBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** The blocks that are known to follow each other, ascending. */
  get line(): readonly HeldBlock[] {
    return this.#line;
  }

  get tip(): BlockHeader | undefined {
    return this.#line.at(-1)?.header;
  }

  /** The lowest slot of which is known whether it has a block; infinite if there is none. The slots above a parent were skipped. */
  get knownFrom(): number {
    const parentSlot = this.#line[0]?.header.parentSlot;
    return parentSlot === undefined ? Number.POSITIVE_INFINITY : parentSlot + 1;
  }

  get finalizedSlot(): number {
    return this.#finalizedSlot;
  }

  /** Returns the block of the line at a slot. */
  at(slot: number): HeldBlock | undefined {
    return this.#line.find(({ header }) => header.number === slot);
  }

  /** Takes a block, which can be a duplicate. */
  add(block: HeldBlock, isConfirmed: boolean): void {
    const { hash, number } = block.header;
    if (this.#blocks.has(hash)) return;
    this.#blocks.set(hash, block);
    this.#byteCount += block.bytes.length;
    if (isConfirmed || this.#early.delete(number)) this.#confirm(block);
    // A block below the line may be the parent that it lacks.
    else if (number < this.knownFrom) this.#rebuild(this.#line.at(-1));
    this.#evict();
  }

  /** Records that the block of a slot is confirmed. If it has not arrived, this counts once it has. */
  confirm(slot: number): void {
    const block = [...this.#blocks.values()].findLast(({ header }) => header.number === slot);
    if (block !== undefined) {
      this.#confirm(block);
      return;
    }
    this.#early.add(slot);
    if (this.#early.size > earlyCountMax) this.#early.delete(Math.min(...this.#early));
  }

  /** Records that a slot is final, and drops the abandoned blocks below it. */
  finalize(slot: number): void {
    this.#finalizedSlot = Math.max(this.#finalizedSlot, slot);
    const kept = new Set(this.#line);
    for (const block of [...this.#blocks.values()]) {
      const { number } = block.header;
      if (number >= this.knownFrom && number < this.#finalizedSlot && !kept.has(block)) {
        this.#remove(block);
      }
    }
  }

  /** Drops the blocks of an abandoned slot. */
  abandon(slot: number): void {
    this.#early.delete(slot);
    for (const block of [...this.#blocks.values()]) {
      if (block.header.number === slot && this.at(slot) !== block) this.#remove(block);
    }
  }

  #confirm(block: HeldBlock): void {
    const { number, parentHash } = block.header;
    const tip = this.#line.at(-1);
    if (tip !== undefined && tip.header.hash === parentHash) this.#line.push(block);
    else if (tip !== undefined && number < this.knownFrom) this.#rebuild(tip);
    // The line has another block at this slot, or none, so the ledger has changed to another branch.
    else if (this.at(number) !== block) this.#rebuild(block);
  }

  /** Sets the line to a block and its ancestors. */
  #rebuild(tip: HeldBlock | undefined): void {
    const line: HeldBlock[] = [];
    for (let block = tip; block !== undefined; ) {
      line.push(block);
      const { parentHash } = block.header;
      block = parentHash === null ? undefined : this.#blocks.get(parentHash);
    }
    this.#line = line.reverse();
  }

  #evict(): void {
    while (this.#blocks.size > heldCountMax || this.#byteCount > this.#bytesMax) {
      const blocks = [...this.#blocks.values()];
      const oldest = blocks.reduce((a, b) => (b.header.number < a.header.number ? b : a));
      if (oldest === this.#line.at(-1)) return;
      this.#remove(oldest);
      if (this.#line[0] === oldest) this.#line.shift();
    }
  }

  #remove(block: HeldBlock): void {
    if (this.#blocks.delete(block.header.hash)) this.#byteCount -= block.bytes.length;
  }
}
