/**
 * A message of the feed.
 *
 *   length of the head u32 · head, JSON · payloads · CRC-32 of everything before the payloads, u32
 *   head   { commits, payloads: [[length, crc] | key, …] }
 *
 * In the commits, the payload of a block is its index in the list of payloads. A payload that does not fit into the message is stored as
 * an object of the store, and the list has its key. Index -1 stands for a block that every state at this sequence already has. Messages of
 * earlier programs end with the payloads; those programs ignore what follows.
 */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import type { NewBlock, NewChange } from '../dataset/chain-writer.ts';
import { type Commit, decodeCommits, encodeCommits } from '../dataset/state-codec.ts';
import type { Payload } from '../storage/journal.ts';

export interface OutgoingMessage {
  readonly bytes: Uint8Array;
  /** The blocks whose bytes the message contains or refers to, in order. */
  readonly blocks: readonly BlockHeader[];
}

/** Stores a large payload outside the message and returns its key. */
export type StoreBlock = (header: BlockHeader, bytes: Uint8Array) => Promise<string>;
export type LoadBlock = (key: string) => Promise<Uint8Array>;

type PayloadEntry = readonly [length: number, crc: number] | string;

/** The maximum size of a payload's entry in the head: its length and checksum, or its key. */
const entryBytesMax = 160;
const checksumBytes = 4;

export async function encodeMessage(
  commits: readonly Commit[],
  payloads: readonly Payload[],
  { bytesMax, store }: { readonly bytesMax: number; readonly store: StoreBlock },
): Promise<OutgoingMessage> {
  const indexes = new Map(payloads.map(({ id }, index) => [id, index]));
  const headers = new Map<number, BlockHeader>();
  const placed = commits.map((commit) =>
    commit.map((change) => {
      if (!('blocks' in change)) return change;
      const blocks = change.blocks.map(({ header, payload }): HotBlock => {
        const index = indexes.get(payload) ?? -1;
        if (index >= 0) headers.set(index, header);
        return { header, payload: index };
      });
      return { ...change, blocks };
    }),
  );
  const blocks = payloads.map((_, index) => {
    const header = headers.get(index);
    assert(header !== undefined, 'every payload belongs to a block of its commit');
    return header;
  });
  const text = encodeCommits(placed);
  const headBytes = Buffer.byteLength(text) + payloads.length * entryBytesMax + entryBytesMax;
  const stored = chooseStored(payloads, bytesMax - headBytes);
  const entries: PayloadEntry[] = [];
  const carried: Uint8Array[] = [];
  for (const [index, { bytes }] of payloads.entries()) {
    if (stored.has(index)) entries.push(await store(elementAt(blocks, index), bytes));
    else {
      entries.push([bytes.length, crc32(bytes)]);
      carried.push(bytes);
    }
  }
  const head = new TextEncoder().encode(
    `{"commits":${text},"payloads":${JSON.stringify(entries)}}`,
  );
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, head.length, true);
  const bytes = Buffer.concat([length, head, ...carried, checksumOf([length, head])]);
  if (bytes.length > bytesMax)
    throw new CodedError('feed-message-too-large', { bytes: bytes.length });
  return { bytes, blocks };
}

function checksumOf(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(checksumBytes);
  const crc = parts.reduce((sum, part) => crc32(part, sum), 0);
  new DataView(bytes.buffer).setUint32(0, crc, true);
  return bytes;
}

/** Chooses the payloads that are stored outside the message: the largest ones, until the others fit. */
function chooseStored(payloads: readonly Payload[], bytesMax: number): Set<number> {
  const stored = new Set<number>();
  let total = payloads.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const bySize = [...payloads.keys()].sort(
    (a, b) => (payloads[b]?.bytes.length ?? 0) - (payloads[a]?.bytes.length ?? 0),
  );
  for (const index of bySize) {
    if (total <= bytesMax) break;
    stored.add(index);
    total -= payloads[index]?.bytes.length ?? 0;
  }
  return stored;
}

export interface IncomingMessage {
  readonly commits: readonly (readonly NewChange[])[];
  /** The blocks that the message contains or refers to, by index. */
  readonly blocks: readonly NewBlock[];
}

/** Decodes a message. Blocks in the object store are only loaded if their index is wanted. */
export async function decodeMessage(
  bytes: Uint8Array,
  load: LoadBlock,
  isWanted: (index: number) => boolean = () => true,
): Promise<IncomingMessage> {
  const { head, headEnd } = decodeHead(bytes);
  const payloads: Uint8Array[] = [];
  let at = headEnd;
  for (const [index, entry] of head.payloads.entries()) {
    if (typeof entry === 'string') {
      payloads.push(isWanted(index) ? await load(entry) : new Uint8Array(0));
      continue;
    }
    const [length, crc] = entry;
    // The payload is copied, because the dataset frees the buffer when it no longer needs it.
    const payload = new Uint8Array(bytes.subarray(at, at + length));
    if (payload.length !== length || crc32(payload) !== crc) {
      throw new CodedError('feed-message-damaged');
    }
    payloads.push(payload);
    at += length;
  }
  try {
    return placePayloads(head.commits, payloads);
  } catch (cause) {
    throw damagedMessage(cause);
  }
}

function placePayloads(body: unknown, payloads: readonly Uint8Array[]): IncomingMessage {
  const blocks: NewBlock[] = [];
  const commits = decodeCommits(body).map((commit) =>
    commit.map((change): NewChange => {
      if (!('blocks' in change)) return change;
      const changeBlocks = change.blocks.map(({ header, payload }) => {
        const block = { header, bytes: payloads[payload] ?? new Uint8Array(0) };
        if (payload >= 0) blocks[payload] = block;
        return block;
      });
      return { ...change, blocks: changeBlocks };
    }),
  );
  return { commits, blocks };
}

interface MessageHead {
  readonly commits: unknown;
  readonly payloads: readonly PayloadEntry[];
}

function decodeHead(bytes: Uint8Array): { head: MessageHead; headEnd: number } {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const headEnd = 4 + view.getUint32(0, true);
    const text = new TextDecoder().decode(bytes.subarray(4, headEnd));
    const head = JSON.parse(text) as MessageHead;
    const isEntry = (entry: unknown) => typeof entry === 'string' || Array.isArray(entry);
    if (!head.payloads.every(isEntry)) throw new CodedError('feed-message-damaged');
    const lengths = head.payloads.map((entry) => (typeof entry === 'string' ? 0 : entry[0]));
    const found = bytes.subarray(lengths.reduce((sum, length) => sum + length, headEnd));
    const isSame = Buffer.compare(found, checksumOf([bytes.subarray(0, headEnd)])) === 0;
    if (found.length > 0 && !isSame) throw new CodedError('feed-message-damaged');
    return { head, headEnd };
  } catch (cause) {
    throw damagedMessage(cause);
  }
}

function damagedMessage(cause: unknown): CodedError {
  return new CodedError('feed-message-damaged', {}, { cause });
}
