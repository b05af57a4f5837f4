/**
 * Reads files of `ConfirmedBlock` protobufs, which do not contain their own slot. `SLOT.pb` is one block. `FIRST-LAST.pb` is a list, in which
 * each block comes after its length as varint: the parent of a block is the block before it, and the name has the slot of the last one.
 */
import { basename } from 'node:path';
import { CodedError } from '@sluice/base/errors';
import { copyBytes } from '@sluice/base/memory/copy-bytes';
import {
  type BlockHash,
  parseBlockHash,
  parseSlot,
  type Slot,
  toSlot,
} from '../../ledger/primitives.ts';
import { collectedMemory, type LineMemory } from '../files/line-buffers.ts';
import type { BlockLine } from '../files/read-block-lines.ts';
import { ByteCursor } from './byte-cursor.ts';
import { readFields, readText, wire } from './protobuf-fields.ts';

const singleName = /^(?<last>\d+)\.pb(?:\.gz)?$/;
const listName = /^(?<first>\d+)-(?<last>\d+)\.pb(?:\.gz)?$/;

export interface ProtobufFileOptions {
  readonly path: string;
  readonly blockBytesMax: number;
  readonly memory?: LineMemory | undefined;
}

export function isProtobufFile(path: string): boolean {
  return /\.pb(?:\.gz)?$/.test(path);
}

/** Yields the blocks of a file. */
export async function* readProtobufFile(
  chunks: AsyncIterable<Uint8Array>,
  options: ProtobufFileOptions,
): AsyncGenerator<BlockLine> {
  const { path } = options;
  const name = basename(path);
  const single = singleName.exec(name)?.groups;
  const list = listName.exec(name)?.groups;
  const last = parseSlot(Number(single?.['last'] ?? list?.['last']));
  if (last === undefined) {
    const reason = 'the name of a file of protobufs must be SLOT.pb or FIRST-LAST.pb';
    throw new CodedError('block-file-unreadable', { path, reason });
  }
  const messages = single === undefined ? splitMessages(chunks, options) : joinAll(chunks, options);
  let before: { readonly bytes: Uint8Array; readonly parent: Parent } | undefined;
  let first = parseSlot(Number(list?.['first']));
  for await (const message of messages) {
    const bytes = copyInto(message, options.memory);
    const parent = readParent(bytes, last);
    if (before !== undefined) {
      yield lineOf(before, parent.slot, path);
      checkFirst(first, parent.slot, path);
      first = undefined;
    }
    before = { bytes, parent };
  }
  if (before !== undefined) {
    checkFirst(first, last, path);
    yield lineOf(before, last, path);
  }
}

/** Returns a copy, because a message is a part of a chunk. */
function copyInto(message: Uint8Array, memory: LineMemory = collectedMemory): Uint8Array {
  const bytes = memory.allocate(message.length).subarray(0, message.length);
  copyBytes(bytes, 0, message);
  return bytes;
}

/** What a block says about its parent and itself. */
interface Parent {
  readonly slot: Slot;
  readonly hash: BlockHash | undefined;
}

/** Reads the slot of the parent and the hash of the block itself. */
function readParent(bytes: Uint8Array, slot: Slot): Parent {
  const cursor = new ByteCursor(bytes, { slot, part: 'block' });
  let parentSlot: Slot | undefined;
  let hash: BlockHash | undefined;
  readFields(cursor, (field, type) => {
    if (field === 2 && type === wire.bytes) hash = parseBlockHash(readText(cursor));
    else if (field === 3 && type === wire.varint) parentSlot = parseSlot(cursor.varint());
    else return false;
    return true;
  });
  return { slot: parentSlot ?? toSlot(0), hash };
}

function lineOf(
  { bytes, parent }: { readonly bytes: Uint8Array; readonly parent: Parent },
  slot: Slot,
  path: string,
): BlockLine {
  const { hash } = parent;
  return { slot, bytes, format: 'protobuf', path, ...(hash === undefined ? {} : { hash }) };
}

function checkFirst(first: Slot | undefined, slot: Slot, path: string): void {
  if (first === undefined || first === slot) return;
  const reason = `its name says that its first block has slot ${first}, but it has slot ${slot}`;
  throw new CodedError('block-file-unreadable', { path, reason });
}

async function* joinAll(
  chunks: AsyncIterable<Uint8Array>,
  { path, blockBytesMax }: ProtobufFileOptions,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > blockBytesMax) throw tooLarge(path, blockBytesMax);
  }
  yield Buffer.concat(parts);
}

/** Yields the messages of a list, each after its length. */
async function* splitMessages(
  chunks: AsyncIterable<Uint8Array>,
  { path, blockBytesMax }: ProtobufFileOptions,
): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const head = readLength(rest);
      if (head === undefined) break;
      if (head.length > blockBytesMax) throw tooLarge(path, blockBytesMax);
      const end = head.at + head.length;
      if (rest.length < end) break;
      yield rest.subarray(head.at, end);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) {
    throw new CodedError('block-file-unreadable', { path, reason: 'it ends inside a block' });
  }
}

/** Returns undefined if the length is incomplete. */
function readLength(bytes: Uint8Array): { length: number; at: number } | undefined {
  let length = 0;
  for (let at = 0; at < bytes.length && at < 6; at++) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return { length, at: at + 1 };
  }
  return bytes.length < 6 ? undefined : { length: Number.MAX_SAFE_INTEGER, at: 6 };
}

function tooLarge(path: string, blockBytesMax: number): CodedError {
  const reason = `a block of more than ${blockBytesMax} bytes`;
  return new CodedError('block-file-unreadable', { path, reason });
}
