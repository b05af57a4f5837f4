/**
 * The nodes of an Old Faithful archive: CBOR lists that begin with their kind and refer to each other by the hash of their bytes.
 *
 *   transaction [0, data, metadata, slot, index?]          entry [1, hash count, hash, transactions]
 *   block [2, slot, shreds, entries, [parent, time, height?], rewards]
 *   subset [3, …] and epoch [4, …] list blocks             rewards [5, slot, data]
 *   frame [6, checksum?, index?, total?, bytes, next?] is also the form of data inside the others
 */
import { ByteCursor, type BytesOrigin, type Integer } from '../binary/byte-cursor.ts';
import { CborCursor } from './cbor-cursor.ts';

export const nodeKind = {
  transaction: 0,
  entry: 1,
  block: 2,
  subset: 3,
  epoch: 4,
  rewards: 5,
  frame: 6,
} as const;

/** A CID of an archive: version 1, DAG-CBOR, SHA-256 of 32 bytes, and the hash. */
export const cidPrefix = [0x01, 0x71, 0x12, 0x20] as const;
export const cidBytes = 36;

export interface Frame {
  readonly checksum: bigint | null;
  readonly index: number | null;
  readonly total: number | null;
  readonly data: ByteCursor;
  /** The keys of the frames after this one. */
  readonly next: readonly string[];
}

export interface TransactionNode {
  readonly data: Frame;
  readonly metadata: Frame;
  readonly slot: Integer;
  readonly index: Integer | null;
}

export interface EntryNode {
  readonly hash: ByteCursor;
  readonly transactions: readonly string[];
}

export interface BlockNode {
  readonly slot: Integer;
  readonly entries: readonly string[];
  readonly parentSlot: Integer;
  /** 0 if it is unknown. */
  readonly blockTime: Integer;
  readonly blockHeight: Integer | null;
  /** Undefined if the block has none. */
  readonly rewards: string | undefined;
}

/** Returns the kind of a node; -1 if its bytes are not one. */
export function kindOf(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] ?? 0;
  const kind = bytes[at + 1] ?? 0xff;
  return first >> 5 === 4 && (first & 0x1f) < 24 && at + 1 < end && kind < 24 ? kind : -1;
}

/** Returns the key of the node with the CID at the cursor, or undefined if the CID stands for no node. */
function readKey(cid: ByteCursor): string | undefined {
  const start = cid.at;
  // An identity CID without data is a placeholder for rewards that do not exist.
  if (cid.end - start === 4) return undefined;
  for (const byte of cidPrefix) if (cid.u8() !== byte) cid.fail('a link of an unknown kind', start);
  const hash = cid.take(32);
  cid.expectEnd();
  return keyOf(hash, 0);
}

/** Returns 32 bytes as a text that can be a key of a map. */
export function keyOf(bytes: Uint8Array, at: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, 32).toString('latin1');
}

export function readTransactionNode(bytes: ByteCursor): TransactionNode {
  const [cbor, count] = open(bytes, nodeKind.transaction);
  const data = readFrame(cbor);
  const metadata = readFrame(cbor);
  const slot = cbor.unsigned();
  const index = count > 4 ? cbor.optionalUnsigned() : null;
  return close(cbor, count - 5, { data, metadata, slot, index });
}

export function readEntryNode(bytes: ByteCursor): EntryNode {
  const [cbor, count] = open(bytes, nodeKind.entry);
  cbor.unsigned();
  const hash = cbor.part();
  if (hash.end - hash.at !== 32) hash.fail('an entry hash that has not 32 bytes');
  return close(cbor, count - 4, { hash, transactions: readLinks(cbor) });
}

export function readBlockNode(bytes: ByteCursor): BlockNode {
  const [cbor, count] = open(bytes, nodeKind.block);
  const slot = cbor.unsigned();
  cbor.skip();
  const entries = readLinks(cbor);
  const metaCount = cbor.list();
  const parentSlot = cbor.unsigned();
  const blockTime = cbor.optionalUnsigned() ?? 0;
  const blockHeight = metaCount > 2 ? cbor.optionalUnsigned() : null;
  for (let left = metaCount - 3; left > 0; left--) cbor.skip();
  const rewards = readKey(cbor.link());
  return close(cbor, count - 6, { slot, entries, parentSlot, blockTime, blockHeight, rewards });
}

export function readRewardsNode(bytes: ByteCursor): {
  readonly slot: Integer;
  readonly data: Frame;
} {
  const [cbor, count] = open(bytes, nodeKind.rewards);
  const slot = cbor.unsigned();
  return close(cbor, count - 3, { slot, data: readFrame(cbor) });
}

/** Reads a frame that is a node of its own. */
export function readFrameNode(bytes: ByteCursor): Frame {
  const cbor = new CborCursor(bytes);
  return close(cbor, 0, readFrame(cbor));
}

/** Reads the start of a node. Returns the number of its elements too. */
function open(bytes: ByteCursor, kind: number): [cbor: CborCursor, count: number] {
  const cbor = new CborCursor(bytes);
  const start = bytes.at;
  const count = cbor.list();
  const found = cbor.unsigned();
  if (found !== kind) bytes.fail(`a node of the kind ${found} where ${kind} is expected`, start);
  return [cbor, count];
}

/** Skips elements that were added later, and checks that nothing follows. */
function close<Node>(cbor: CborCursor, left: number, node: Node): Node {
  for (let i = 0; i < left; i++) cbor.skip();
  cbor.bytes.expectEnd();
  return node;
}

function readFrame(cbor: CborCursor): Frame {
  const start = cbor.bytes.at;
  const count = cbor.list();
  if (count < 5 || cbor.unsigned() !== nodeKind.frame) {
    cbor.bytes.fail('a value that is not a frame of data', start);
  }
  const checksum = cbor.optionalBits();
  const index = cbor.optionalUnsigned();
  const total = cbor.optionalUnsigned();
  const data = cbor.part();
  const next = count > 5 && !cbor.takeNull() ? readLinks(cbor) : [];
  return { checksum, index: toCount(index), total: toCount(total), data, next };
}

function toCount(value: Integer | null): number | null {
  return value === null ? null : Number(value);
}

function readLinks(cbor: CborCursor): readonly string[] {
  const start = cbor.bytes.at;
  const keys: string[] = [];
  for (let left = cbor.list(); left > 0; left--) {
    keys.push(readKey(cbor.link()) ?? cbor.bytes.fail('a link to no node', start));
  }
  return keys;
}

/** Returns a cursor over the bytes of a node. */
export function nodeCursor(
  bytes: Uint8Array,
  { at, end }: { readonly at: number; readonly end: number },
  origin: BytesOrigin,
): ByteCursor {
  return new ByteCursor(bytes, origin, at, end);
}
