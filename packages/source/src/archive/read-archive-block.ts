/**
 * Converts a block of an Old Faithful archive into the same records as the `getBlock` result of the same block, as far as the archive has
 * them. The bytes are the hash of its parent, or zeros if it is unknown, and the sections of all nodes of the block, of which the block itself
 * is the last:
 *
 *   parent hash · transaction · transaction · entry · … · rewards · block
 */

import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { crc64, fnv64a } from '@sluice/grpc/frame-checksum';
import type { ListedNodes, TransactionKernel } from '@sluice/kernels/transaction-kernel';
import { ZstdDecoder } from '@sluice/kernels/zstd-decoder';
import type { BlockHeader } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { ByteCursor, type BytesOrigin, noMark } from '../binary/byte-cursor.ts';
import { type EntryReader, normalizeBinary } from '../binary/normalize-binary.ts';
import { readFields, readPart, wire } from '../binary/protobuf-fields.ts';
import { readBincodeMeta } from '../binary/read-bincode-meta.ts';
import { readReward, readStatusMeta } from '../binary/read-status-meta.ts';
import { readWireTransaction } from '../binary/read-wire-transaction.ts';
import { BlockReader } from '../normalize/block-reader.ts';
import {
  type BlockFields,
  completeOptions,
  type NormalizedBlock,
  normalizeFields,
} from '../normalize/normalize-block.ts';
import { type NormalizeOptions, normalizeDefaults } from '../normalize/normalize-options.ts';
import {
  type BlockNode,
  type Frame,
  nodeCursor,
  readBlockNode,
  readEntryNode,
  readFrameNode,
  readRewardsNode,
  readTransactionNode,
} from './archive-nodes.ts';
import { indexNodes, readSection, type Section, verifyNodes } from './archive-sections.ts';
import { readBincodeRewards } from './read-bincode-rewards.ts';

/** The length of the hash in front of the sections. */
export const parentHashBytes = 32;

/** The most bytes that compressed data may have. Ten thousand rewards have one million bytes, metadata some thousands. */
const unpackedBytesMax = 64 * 1024 * 1024;
/** The most frames of one value: as many as fit into the largest block. */
const frameCountMax = 65_536;

export function readArchiveBlock(
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions> = {},
  kernel?: TransactionKernel,
): NormalizedBlock {
  const settings = completeOptions(slot, bytes, options);
  kernel?.beginBinary(bytes, settings.votes === 'drop');
  const nodes = new ArchiveBlock(slot, bytes, kernel?.listNodes(parentHashBytes, bytes.length));
  const positions = nodes.transactions();
  if (!nodes.isListed) kernel?.setPositions(positions);
  const reader = new BlockReader(slot, noMark);
  const block = { reader, fields: nodes.readFields(), transactionCount: positions.length / 2 };
  return normalizeBinary(block, settings, kernel, {
    take: (taking, first, last) => taking.takeNodes(first, last, slot),
    read: (index) => nodes.readEntry(positions, index),
  });
}

/** Returns a block in the form of `getBlock`. */
export function readArchiveValue(slot: Slot, bytes: Uint8Array): unknown {
  const nodes = new ArchiveBlock(slot, bytes);
  const positions = nodes.transactions();
  const transactions = Array.from({ length: positions.length / 2 }, (_, index) => {
    const { entry, readMeta } = nodes.readEntry(positions, index);
    return { ...entry, meta: readMeta() };
  });
  return { ...nodes.readFields(), transactions };
}

/** Reads the header of a block without its transactions. */
export function readArchiveHeader(slot: Slot, bytes: Uint8Array): BlockHeader {
  const reader = new BlockReader(slot, noMark);
  const fields = { ...new ArchiveBlock(slot, bytes).readFields(), rewards: [] };
  return normalizeFields(reader, fields, normalizeDefaults, () => undefined).block.header;
}

/** The nodes of one block. */
class ArchiveBlock {
  readonly #slot: Slot;
  readonly #bytes: Uint8Array;
  readonly #origin: BytesOrigin;
  readonly #listed: ListedNodes | undefined;
  /** The nodes by their keys. Made on demand if the nodes are listed, because ordinary blocks need only a few of them. */
  #sections: ReadonlyMap<string, Section> | undefined;
  readonly #node: BlockNode;

  /** `listed` has the nodes if they are in the usual order, which are not verified yet. */
  constructor(slot: Slot, bytes: Uint8Array, listed?: ListedNodes) {
    this.#slot = slot;
    this.#bytes = bytes;
    this.#origin = { slot, part: 'block' };
    this.#listed = listed;
    const cursor = new ByteCursor(bytes, this.#origin);
    const last = listed === undefined ? this.#readSections(cursor) : verifyListed(cursor, listed);
    this.#node = readBlockNode(this.#open(last));
    if (this.#node.slot !== slot) cursor.fail(`a block of slot ${this.#node.slot}`, last.at);
  }

  get isListed(): boolean {
    return this.#listed !== undefined;
  }

  /** Reads all nodes. Returns the last one. */
  #readSections(cursor: ByteCursor): Section {
    const sections = new Map<string, Section>();
    cursor.skip(parentHashBytes);
    for (;;) {
      const section = readSection(cursor);
      sections.set(section.key, section);
      this.#sections = sections;
      if (cursor.isAtEnd) return section;
    }
  }

  readFields(): BlockFields {
    const { parentSlot, blockTime, blockHeight, entries } = this.#node;
    const last = entries.at(-1);
    const cursor = new ByteCursor(this.#bytes, this.#origin);
    if (last === undefined) return cursor.fail('a block without entries');
    const parentHash = cursor.take(parentHashBytes);
    return {
      blockhash: encodeBase58(readEntryNode(this.#find(last)).hash.take(32)),
      previousBlockhash: encodeBase58(parentHash),
      parentSlot,
      // The archive has no other notation for a time that is unknown.
      blockTime: blockTime === 0 ? null : blockTime,
      blockHeight,
      rewards: this.#readRewards(),
    };
  }

  /** Returns start and end of the nodes of the transactions, alternating, in the order of their execution. */
  transactions(): Uint32Array {
    if (this.#listed !== undefined) return this.#listed.transactions;
    const keys = this.#node.entries.flatMap(
      (entry) => readEntryNode(this.#find(entry)).transactions,
    );
    const nodes = keys.map((key) => this.#find(key));
    return Uint32Array.from(nodes.flatMap(({ at, end }) => [at, end]));
  }

  readEntry(positions: Uint32Array, index: number): EntryReader {
    const at = elementAt(positions, 2 * index);
    const cursor = this.#open({ at, end: elementAt(positions, 2 * index + 1) });
    const { data, metadata, ...node } = readTransactionNode(cursor);
    if (node.slot !== this.#slot) cursor.fail(`a transaction of slot ${node.slot}`, at);
    if (node.index !== null && node.index !== index) {
      cursor.fail(`transaction ${node.index} at the position ${index}`, at);
    }
    const origin = { slot: this.#slot, part: 'transaction', transaction: index };
    const entry = readWireTransaction(this.#join(data, origin));
    return { entry, readMeta: () => this.#readMeta(metadata, index) };
  }

  /** Returns null if the archive has no metadata, which is not the same as metadata with default values. */
  #readMeta(frame: Frame, transaction: number): unknown {
    const origin = { slot: this.#slot, part: 'metadata', transaction };
    const packed = this.#join(frame, origin);
    if (packed.isAtEnd) return null;
    const cursor = unpack(packed);
    // Bincode begins with the number of a status, which is 0 or 1. No field of a protobuf has such a tag.
    const isBincode = (cursor.bytes[0] ?? 0) <= 1 && !cursor.isAtEnd;
    return isBincode ? readBincodeMeta(cursor) : readStatusMeta(cursor);
  }

  #readRewards(): unknown {
    const key = this.#node.rewards;
    if (key === undefined) return [];
    const cursor = this.#find(key);
    const { at } = cursor;
    const node = readRewardsNode(cursor);
    if (node.slot !== this.#slot) cursor.fail(`rewards of slot ${node.slot}`, at);
    const packed = this.#join(node.data, { slot: this.#slot, part: 'rewards' });
    if (packed.isAtEnd) return [];
    const data = unpack(packed);
    const bincode = readBincodeRewards(data);
    if (bincode !== undefined) return bincode;
    const rewards: unknown[] = [];
    readFields(data, (field, type) => {
      if (field !== 1 || type !== wire.bytes) return false;
      rewards.push(readReward(readPart(data)));
      return true;
    });
    return rewards;
  }

  /** Returns the data of a frame and of all that follow it. */
  #join(first: Frame, origin: BytesOrigin): ByteCursor {
    const { data, next } = first;
    if (next.length === 0) {
      this.#checkSum(first, data, 1);
      return new ByteCursor(data.bytes, { ...origin, part: origin.part }, data.at, data.end);
    }
    const frames: Frame[] = [];
    this.#collect(first, frames);
    const joined = Buffer.concat(
      frames.map((frame) => data.bytes.subarray(frame.data.at, frame.data.end)),
    );
    this.#checkSum(first, new ByteCursor(joined, origin), frames.length);
    return new ByteCursor(joined, origin);
  }

  /** Appends a frame and the frames it refers to, in order. */
  #collect(frame: Frame, frames: Frame[]): void {
    if (frame.index !== null && frame.index !== frames.length) {
      frame.data.fail(`frame ${frame.index} at the position ${frames.length}`);
    }
    if (frames.length >= frameCountMax) frame.data.fail('too many frames');
    frames.push(frame);
    for (const key of frame.next) this.#collect(readFrameNode(this.#find(key)), frames);
  }

  #checkSum({ checksum, total, data }: Frame, joined: ByteCursor, count: number): void {
    if (total !== null && total !== count) data.fail(`${count} frames of ${total}`);
    if (checksum === null) return;
    const bytes = joined.bytes.subarray(joined.at, joined.end);
    if (checksum !== crc64(bytes) && checksum !== fnv64a(bytes)) {
      data.fail('frames whose checksum is wrong');
    }
  }

  #find(key: string): ByteCursor {
    this.#sections ??= indexNodes(this.#bytes, this.#listed?.sections ?? new Uint32Array());
    const section = this.#sections.get(key);
    if (section === undefined) {
      const name = Buffer.from(key, 'latin1').toString('hex').slice(0, 16);
      return new ByteCursor(this.#bytes, this.#origin).fail(`no node with the hash ${name}…`);
    }
    return this.#open(section);
  }

  #open(section: Pick<Section, 'at' | 'end'>): ByteCursor {
    return nodeCursor(this.#bytes, section, this.#origin);
  }
}

/** Verifies all nodes. Returns the position of the last one, which is the block. */
function verifyListed(cursor: ByteCursor, { sections }: ListedNodes): Pick<Section, 'at' | 'end'> {
  verifyNodes(cursor, sections);
  return { at: elementAt(sections, -2), end: elementAt(sections, -1) };
}

let decoder: ZstdDecoder | undefined;

function unpack(packed: ByteCursor): ByteCursor {
  decoder ??= new ZstdDecoder();
  const result = decoder.decode(packed.bytes.subarray(packed.at, packed.end), unpackedBytesMax);
  if (result.kind === 'damaged') return packed.fail(result.fault, packed.at + result.offset);
  return new ByteCursor(result.bytes, packed.origin);
}
