/**
 * Reads the blocks of a CAR file of an Old Faithful archive. A block is the run of sections that ends with its block node:
 *
 *   header · transaction · entry · … · block of slot 0 · transaction · … · block of slot 1 · … · subset · epoch
 *
 * Only the structure is read here. The threads that convert the blocks verify every node.
 */
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { copyBytes } from '@sluice/base/memory/copy-bytes';
import {
  type BlockHash,
  parseSlot,
  type Slot,
  toBlockHash,
  toSlot,
} from '@sluice/ledger/primitives';
import { ByteCursor } from '../binary/byte-cursor.ts';
import { ByteWindow, type ReadInto } from '../files/byte-window.ts';
import { collectedMemory, type LineMemory } from '../files/line-buffers.ts';
import type { BlockLine } from '../files/read-block-lines.ts';
import { cidBytes, kindOf, nodeKind, readBlockNode, readEntryNode } from './archive-nodes.ts';
import { parentHashBytes } from './read-archive-block.ts';

/** The largest node of an archive. */
const sectionBytesMax = 32 * 1024 * 1024;
/** Real headers have 59 bytes. */
const headerBytesMax = 4096;
/** A varint of 32 bits. */
const lengthBytesMax = 5;

export interface ArchiveOptions {
  readonly path: string;
  readonly blockBytesMax: number;
  readonly memory?: LineMemory | undefined;
  /** Whether reading begins at a block, after the header. */
  readonly isAfterHeader?: boolean;
}

/** The block before the next one. An archive has the slot of a parent but not its hash, so it is carried over, also between files. */
export interface ArchiveChain {
  previous: { readonly slot: Slot; readonly hash: BlockHash } | undefined;
  /** Returns the hash of a block that is already stored, for a parent that no file has. */
  readonly storedHash: (slot: Slot) => Promise<BlockHash | undefined>;
}

/** Returns whether bytes begin like a CAR file: a header with the key `roots` after its length. */
export function isArchive(first: Uint8Array): boolean {
  return (
    Buffer.from(first.buffer, first.byteOffset, first.length).indexOf(
      '\u00a2eroots',
      0,
      'latin1',
    ) === 1
  );
}

/** Yields the blocks of a file. Throws an error that names the slots if blocks are missing between them. */
export async function* readArchiveFile(
  read: ReadInto,
  options: ArchiveOptions,
  chain: ArchiveChain,
): AsyncGenerator<BlockLine> {
  const { path, memory = collectedMemory } = options;
  const finder = new BlockFinder(read, options);
  if (options.isAfterHeader !== true) await finder.skipHeader();
  for (let run = await finder.nextBlock(); run !== undefined; run = await finder.nextBlock()) {
    const { slot, hash, sections } = run;
    const parentHash = await findParentHash(run, path, chain);
    const length = parentHashBytes + sections.length;
    const bytes = memory.allocate(length).subarray(0, length);
    bytes.fill(0, 0, parentHashBytes);
    if (parentHash !== undefined) bytes.set(decodeBase58(parentHash) ?? [], 0);
    copyBytes(bytes, parentHashBytes, sections);
    chain.previous = { slot, hash };
    yield { slot, bytes, path, format: 'archive', hash };
  }
}

/** Returns the hash of a block's parent, or undefined if it is the first block that anyone has. */
async function findParentHash(
  { slot, parentSlot }: BlockRun,
  path: string,
  { previous, storedHash }: ArchiveChain,
): Promise<BlockHash | undefined> {
  if (slot === 0) return undefined;
  if (previous?.slot === parentSlot) return previous.hash;
  const stored = await storedHash(parentSlot);
  if (stored === undefined && previous !== undefined && previous.slot < parentSlot) {
    const from = previous.slot + 1;
    throw new CodedError('archive-hole', { path, from, to: parentSlot, child: slot });
  }
  return stored;
}

/** The sections of a block, valid until the next block is read. */
interface BlockRun {
  readonly slot: Slot;
  readonly parentSlot: Slot;
  readonly hash: BlockHash;
  readonly sections: Uint8Array;
}

/** A position in the sections of a block. */
interface Position {
  readonly at: number;
  readonly end: number;
}

/** Finds the blocks of a CAR file. */
class BlockFinder {
  readonly #window: ByteWindow;
  readonly #options: ArchiveOptions;

  constructor(read: ReadInto, options: ArchiveOptions) {
    this.#window = new ByteWindow(read);
    this.#options = options;
  }

  async skipHeader(): Promise<void> {
    const window = this.#window;
    const length = await this.#readLength();
    const isWhole = length !== undefined && length <= headerBytesMax && (await window.fill(length));
    if (!isWhole || !isArchive(window.bytes.subarray(window.start, window.at + length))) {
      this.#fail('the file does not begin with the header of a CAR file');
    }
    window.at += length;
    window.keepFromHere();
  }

  /** Returns undefined at the end of the file. */
  async nextBlock(): Promise<BlockRun | undefined> {
    const window = this.#window;
    let entry: Position | undefined;
    for (;;) {
      // Nearly all sections are in the window. Waiting for a promise costs more than reading one.
      const node = this.#isInWindow() ? this.#takeNode() : await this.#nextNode();
      if (node === undefined) return undefined;
      const kind = kindOf(window.bytes, window.start + node.at, window.start + node.end);
      if (kind === nodeKind.entry) entry = node;
      else if (kind === nodeKind.block) return this.#takeBlock(node, entry);
      // Subsets and the epoch list blocks, and come after them.
      else if (kind === nodeKind.subset || kind === nodeKind.epoch) window.keepFromHere();
      else if (kind < 0 || kind > nodeKind.frame) this.#fail('a node of an unknown kind');
    }
  }

  /** Returns whether the whole next section is in the window. */
  #isInWindow(): boolean {
    const window = this.#window;
    const start = window.at;
    if (window.end - start < lengthBytesMax) return false;
    const length = this.#parseLength();
    const isWhole = window.end - window.at >= length;
    window.at = start;
    return isWhole;
  }

  /** Returns the position of the next node, or undefined at the end of the file. */
  async #nextNode(): Promise<Position | undefined> {
    const window = this.#window;
    const length = await this.#readLength();
    if (length === undefined) {
      if (window.at > window.start) this.#fail('the file ends inside a block');
      return undefined;
    }
    this.#checkLength(length);
    if (!(await window.fill(length))) this.#fail('the file ends inside a section');
    return this.#skipNode(length);
  }

  /** Like `nextNode`, for a section in the window. */
  #takeNode(): Position {
    const length = this.#parseLength();
    this.#checkLength(length);
    return this.#skipNode(length);
  }

  #checkLength(length: number): void {
    const window = this.#window;
    if (length <= cidBytes || length > sectionBytesMax) this.#fail(`a section of ${length} bytes`);
    if (window.at - window.start + length > this.#options.blockBytesMax) {
      this.#fail('a block that is larger than the limit');
    }
  }

  /** Moves behind a node. Positions are relative to the start of the block, because filling the window moves its bytes. */
  #skipNode(length: number): Position {
    const window = this.#window;
    const at = window.at + cidBytes - window.start;
    window.at += length;
    return { at, end: window.at - window.start };
  }

  #takeBlock(node: Position, entry: Position | undefined): BlockRun {
    const window = this.#window;
    const sections = window.bytes.subarray(window.start, window.at);
    // The slot is not known before the node is read.
    const origin = { slot: toSlot(0), part: `the block that ends at byte ${window.offset}` };
    const open = ({ at, end }: Position) => new ByteCursor(sections, origin, at, end);
    const { slot, parentSlot } = readBlockNode(open(node));
    const [number, parent] = [parseSlot(slot), parseSlot(parentSlot)];
    if (number === undefined || parent === undefined) return this.#fail(`a block of slot ${slot}`);
    if (entry === undefined) return this.#fail(`the block of slot ${slot} has no entry`);
    const hash = toBlockHash(encodeBase58(readEntryNode(open(entry)).hash.take(32)));
    window.keepFromHere();
    return { slot: number, parentSlot: parent, hash, sections };
  }

  /** Reads the length of the next section. Returns undefined at the end of the file. */
  async #readLength(): Promise<number | undefined> {
    const window = this.#window;
    if (window.end - window.at < lengthBytesMax) await window.fill(lengthBytesMax);
    return window.at === window.end ? undefined : this.#parseLength();
  }

  #parseLength(): number {
    const window = this.#window;
    let length = 0;
    for (let i = 0; i < lengthBytesMax; i++) {
      if (window.at === window.end) this.#fail('the file ends in a length');
      const byte = window.bytes[window.at++] ?? 0;
      length += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return length;
    }
    return this.#fail('a length of more than 32 bits');
  }

  #fail(fault: string): never {
    const { path } = this.#options;
    throw new CodedError('archive-invalid', { path, offset: this.#window.offset, fault });
  }
}
