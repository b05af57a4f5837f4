/** Encodes blocks in the form of `getBlock` as a CAR file of an archive, with the index of its slots. */
import { createHash } from 'node:crypto';
import { decodeBase58 } from '@sluice/base/base58';
import { BinaryWriter } from './binary-writer.ts';
import {
  encodeReward,
  encodeStatusMeta,
  type JsonBlock,
  type JsonMeta,
  type JsonTransaction,
} from './encode-json-block.ts';
import { encodeWireTransaction } from './encode-wire-transaction.ts';
import { crc64 } from './frame-checksum.ts';

export interface ArchiveEncoding {
  /** Compresses data to a Zstandard frame; by default the frame contains it unchanged. */
  readonly compress?: (bytes: Uint8Array) => Uint8Array;
  readonly encodeMeta?: (meta: JsonMeta) => Uint8Array;
  readonly encodeTransaction?: (entry: JsonTransaction) => Uint8Array;
  readonly checksum?: (bytes: Uint8Array) => bigint;
  /** Data is split into frames of this length. */
  readonly frameBytes?: number;
}

export interface EncodedArchive {
  readonly bytes: Uint8Array;
  /** For each block its slot and the position of its sections. */
  readonly ranges: readonly {
    readonly slot: number;
    readonly offset: number;
    readonly length: number;
  }[];
}

type Cbor = number | bigint | null | Uint8Array | Link | readonly Cbor[];

class Link {
  readonly cid: Uint8Array;

  constructor(cid: Uint8Array) {
    this.cid = cid;
  }
}

const noRewards = new Link(Uint8Array.from([0x01, 0x55, 0, 0]));

/** Returns a Zstandard frame that contains the bytes unchanged. */
export function storeAsZstd(bytes: Uint8Array): Uint8Array {
  const out = new BinaryWriter().u32(0xfd2fb528).u8(0xa0).u32(bytes.length);
  const blockBytes = 128 * 1024;
  for (let at = 0; at === 0 || at < bytes.length; at += blockBytes) {
    const part = bytes.subarray(at, at + blockBytes);
    const header = (part.length << 3) | (at + blockBytes >= bytes.length ? 1 : 0);
    out.bytes([header & 0xff, (header >> 8) & 0xff, header >> 16]).bytes(part);
  }
  return out.finish();
}

export function encodeArchive(
  blocks: readonly { readonly slot: number; readonly block: JsonBlock }[],
  encoding: ArchiveEncoding = {},
): EncodedArchive {
  const writer = new ArchiveWriter(encoding);
  const links = blocks.map(({ slot, block }) => writer.block(slot, block));
  const [first, last] = [blocks[0]?.slot ?? 0, blocks.at(-1)?.slot ?? 0];
  const subset = writer.node([3, first, last, links]);
  writer.node([4, 0, [subset]]);
  return writer.finish();
}

/** Returns the index of an epoch: for each slot the offset of its block in 64 bits and its length in 32. */
export function encodeSlotRanges({ ranges }: EncodedArchive, epoch: number): Uint8Array {
  const bytes = Buffer.alloc(432_000 * 12);
  for (const { slot, offset, length } of ranges) {
    const at = (slot - epoch * 432_000) * 12;
    bytes.writeBigUInt64LE(BigInt(offset), at);
    bytes.writeUInt32LE(length, at + 8);
  }
  return bytes;
}

class ArchiveWriter {
  readonly #encoding: ArchiveEncoding;
  readonly #parts: Uint8Array[] = [];
  readonly #ranges: { slot: number; offset: number; length: number }[] = [];
  #length = 0;

  constructor(encoding: ArchiveEncoding) {
    this.#encoding = encoding;
    const root = Buffer.concat([Buffer.from([0x01, 0x71, 0x12, 0x20]), Buffer.alloc(32)]);
    const header = Buffer.concat([
      Buffer.from([0xa2, 0x65]),
      Buffer.from('roots'),
      encodeCbor([new Link(root)]),
      Buffer.from([0x67]),
      Buffer.from('version'),
      Buffer.from([1]),
    ]);
    this.#append(new BinaryWriter().varint(header.length).bytes(header).finish());
  }

  #append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  node(value: Cbor): Link {
    const bytes = encodeCbor(value);
    const hash = createHash('sha256').update(bytes).digest();
    const cid = Buffer.concat([Buffer.from([0x01, 0x71, 0x12, 0x20]), hash]);
    const section = new BinaryWriter()
      .varint(cid.length + bytes.length)
      .bytes(cid)
      .bytes(bytes);
    this.#append(section.finish());
    return new Link(cid);
  }

  block(slot: number, block: JsonBlock): Link {
    const offset = this.#length;
    const blockHash = decodeBase58(block.blockhash) ?? new Uint8Array();
    const half = Math.ceil(block.transactions.length / 2);
    const entry = (from: number, to: number, hash: Uint8Array) => {
      const links = block.transactions
        .slice(from, to)
        .map((transaction, i) => this.#transaction(slot, transaction, from + i));
      return this.node([1, 12_500, hash, links]);
    };
    const first = entry(0, half, createHash('sha256').update(blockHash).digest());
    const second = entry(half, block.transactions.length, blockHash);
    const rewards = this.#rewards(slot, block);
    const time = block.blockTime ?? 0;
    const height = block.blockHeight ?? null;
    const meta = [block.parentSlot, BigInt(time), height === null ? null : BigInt(height)];
    const link = this.node([2, slot, [[0, 0]], [first, second], meta, rewards]);
    this.#ranges.push({ slot, offset, length: this.#length - offset });
    return link;
  }

  #transaction(slot: number, transaction: JsonTransaction, index: number): Link {
    const { compress = storeAsZstd, encodeMeta = encodeStatusMeta } = this.#encoding;
    const meta =
      transaction.meta === null ? new Uint8Array() : compress(encodeMeta(transaction.meta));
    const { encodeTransaction = encodeWireTransaction } = this.#encoding;
    const data = this.#frame(encodeTransaction(transaction));
    return this.node([0, data, this.#frame(meta), slot, index]);
  }

  #rewards(slot: number, { rewards = [] }: JsonBlock): Link {
    if (rewards.length === 0) return noRewards;
    const { compress = storeAsZstd } = this.#encoding;
    const out = new BinaryWriter();
    for (const reward of rewards) out.field(1, encodeReward(reward));
    return this.node([5, slot, this.#frame(compress(out.finish()))]);
  }

  /** Returns a frame with the data; data that is too long is split, and the frame links to the rest. */
  #frame(data: Uint8Array): Cbor {
    const { frameBytes = Number.POSITIVE_INFINITY, checksum = crc64 } = this.#encoding;
    if (data.length <= frameBytes) return [6, null, null, null, data];
    const total = Math.ceil(data.length / frameBytes);
    const sum = BigInt.asIntN(64, checksum(data));
    const frame = (i: number, next: readonly Cbor[]): Cbor => [
      6,
      sum,
      i,
      total,
      data.subarray(i * frameBytes, (i + 1) * frameBytes),
      next,
    ];
    // The last of the next two frames refers to the two after it, and so on.
    const linksAfter = (i: number): Link[] => {
      if (i + 1 >= total) return [];
      const second = i + 2 < total ? [this.node(frame(i + 2, linksAfter(i + 2)))] : [];
      return [this.node(frame(i + 1, [])), ...second];
    };
    return frame(0, linksAfter(0));
  }

  finish(): EncodedArchive {
    return { bytes: new Uint8Array(Buffer.concat(this.#parts)), ranges: this.#ranges };
  }
}

function encodeCbor(value: Cbor): Uint8Array {
  const out = new BinaryWriter();
  writeCbor(out, value);
  return out.finish();
}

function writeCbor(out: BinaryWriter, value: Cbor): void {
  if (value === null) out.u8(0xf6);
  else if (value instanceof Link) {
    writeHead(out, 6, 42n);
    writeCbor(out, new Uint8Array([0, ...value.cid]));
  } else if (value instanceof Uint8Array) {
    writeHead(out, 2, BigInt(value.length));
    out.bytes(value);
  } else if (typeof value === 'object') {
    writeHead(out, 4, BigInt(value.length));
    for (const element of value) writeCbor(out, element);
  } else if (value < 0) writeHead(out, 1, -1n - BigInt(value));
  else writeHead(out, 0, BigInt(value));
}

function writeHead(out: BinaryWriter, major: number, value: bigint): void {
  if (value < 24n) {
    out.u8((major << 5) | Number(value));
    return;
  }
  const size = value < 256n ? 0 : value < 65_536n ? 1 : value < 2n ** 32n ? 2 : 3;
  out.u8((major << 5) | (24 + size));
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  out.bytes(bytes.subarray(8 - (1 << size)));
}
