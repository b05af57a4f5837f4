/** The index of an archive: `epoch-N-slot-ranges.raw` says where the block of each slot is in `epoch-N.car`. */
import { type Slot, toSlot } from '@sluice/ledger/primitives';

/** The slots of an epoch. */
export const epochSlots = 432_000;
/** An entry of an index: the offset of a block in 64 bits and its length in 32; zero for a slot without a block. */
const entryBytes = 12;
export const indexBytesMax = epochSlots * entryBytes;
/** The slots whose blocks are read together: a few megabytes. */
export const groupSlots = 8;

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

export function indexName(epoch: number): string {
  return `epoch-${epoch}-slot-ranges.raw`;
}

/** Where the block of each slot of an epoch is. */
export class EpochIndex {
  readonly #epoch: number;
  readonly #view: DataView;

  /** Returns undefined if the bytes are not an index. */
  static read(epoch: number, bytes: Uint8Array): EpochIndex | undefined {
    const isWhole = bytes.length % entryBytes === 0 && bytes.length <= indexBytesMax;
    return isWhole ? new EpochIndex(epoch, bytes) : undefined;
  }

  private constructor(epoch: number, bytes: Uint8Array) {
    this.#epoch = epoch;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  rangeOf(slot: number): ByteRange | undefined {
    const at = (slot - this.#epoch * epochSlots) * entryBytes;
    if (at < 0 || at + entryBytes > this.#view.byteLength) return undefined;
    const length = this.#view.getUint32(at + 8, true);
    const offset = Number(this.#view.getBigUint64(at, true));
    return length === 0 || !Number.isSafeInteger(offset) ? undefined : { offset, length };
  }

  /** Returns the range of all blocks of the slots that are read together with this one. */
  groupOf(slot: number): ByteRange {
    const first = Math.floor(slot / groupSlots) * groupSlots;
    let [start, end] = [Number.POSITIVE_INFINITY, 0];
    for (let member = first; member < first + groupSlots; member++) {
      const range = this.rangeOf(member);
      if (range === undefined) continue;
      start = Math.min(start, range.offset);
      end = Math.max(end, range.offset + range.length);
    }
    return { offset: start, length: end - start };
  }

  /** Returns the slots with a block, ascending. */
  list({ first, last }: { readonly first: number; readonly last: number }): Slot[] {
    const start = this.#epoch * epochSlots;
    const end = start + this.#view.byteLength / entryBytes;
    const slots: Slot[] = [];
    for (let slot = Math.max(first, start); slot < end && slot <= last; slot++) {
      if (this.rangeOf(slot) !== undefined) slots.push(toSlot(slot));
    }
    return slots;
  }
}
