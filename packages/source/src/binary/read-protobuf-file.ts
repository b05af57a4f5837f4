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
} from '@sluice/ledger/primitives';
import { ByteWindow, type ReadInto } from '../files/byte-window.ts';
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
  read: ReadInto,
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
  const messages = single === undefined ? splitMessages(read, options) : readAll(read, options);
  let before: { readonly bytes: Uint8Array; readonly parent: Parent } | undefined;
  let first = parseSlot(Number(list?.['first']));
  for await (const bytes of messages) {
    const parent = readParent(bytes, last);
    if (before !== undefined) {
      checkFirst(first, parent.slot, path);
      first = undefined;
      yield lineOf(before, parent.slot, path);
    }
    before = { bytes, parent };
  }
  if (before !== undefined) {
    checkFirst(first, last, path);
    yield lineOf(before, last, path);
  }
}

/** The slot of the parent, and the hash of the block itself. */
interface Parent {
  readonly slot: Slot;
  readonly hash: BlockHash | undefined;
}

/** Reads the slot of the parent and the hash of the block itself, which are the first fields. */
function readParent(bytes: Uint8Array, slot: Slot): Parent {
  const cursor = new ByteCursor(bytes, { slot, part: 'block' });
  let parentSlot: Slot | undefined;
  let hash: BlockHash | undefined;
  readFields(
    cursor,
    (field, type) => {
      if (field === 2 && type === wire.bytes) hash = parseBlockHash(readText(cursor));
      else if (field === 3 && type === wire.varint) parentSlot = parseSlot(cursor.varint());
      else return false;
      return true;
    },
    () => parentSlot !== undefined && hash !== undefined,
  );
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

/** Yields the only message of a file. */
async function* readAll(
  read: ReadInto,
  { path, blockBytesMax, memory = collectedMemory }: ProtobufFileOptions,
): AsyncGenerator<Uint8Array> {
  const window = new ByteWindow(read);
  if (await window.fill(blockBytesMax + 1)) throw tooLarge(path, blockBytesMax);
  const message = window.bytes.subarray(window.at, window.end);
  const bytes = memory.allocate(message.length).subarray(0, message.length);
  copyBytes(bytes, 0, message);
  yield bytes;
}

/** Enough for the length of a message. Its bytes are read directly into their memory, except for those that are in the window already. */
const listWindowBytes = 4096;

/** Yields the messages of a list, each after its length. */
async function* splitMessages(
  read: ReadInto,
  { path, blockBytesMax, memory = collectedMemory }: ProtobufFileOptions,
): AsyncGenerator<Uint8Array> {
  const window = new ByteWindow(read, listWindowBytes);
  for (;;) {
    await window.fill(lengthBytesMax);
    if (window.at === window.end) return;
    const length = readLength(window);
    if (length !== undefined && length > blockBytesMax) throw tooLarge(path, blockBytesMax);
    const bytes = memory.allocate(length ?? 0).subarray(0, length);
    if (length === undefined || !(await window.take(bytes))) {
      memory.release(bytes);
      throw new CodedError('block-file-unreadable', { path, reason: 'it ends inside a block' });
    }
    yield bytes;
  }
}

/** A varint of 35 bits. */
const lengthBytesMax = 5;

/** Reads a length. Returns undefined if the stream ends in it, and infinity if it is too long. */
function readLength(window: ByteWindow): number | undefined {
  let length = 0;
  for (let i = 0; i < lengthBytesMax; i++) {
    if (window.at === window.end) return undefined;
    const byte = window.bytes[window.at++] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return length;
  }
  return Number.POSITIVE_INFINITY;
}

function tooLarge(path: string, blockBytesMax: number): CodedError {
  const reason = `a block of more than ${blockBytesMax} bytes`;
  return new CodedError('block-file-unreadable', { path, reason });
}
