// Finds the nodes of a block of an archive. It accepts only the order in which archives are written, in which every node comes after the
// nodes that it refers to:
//
//   transaction · transaction · entry · transaction · entry · … · rewards · block
//
// The entries must refer to all transactions, and the block to all entries, in this order. Then no link has to be looked up: each is compared
// with the hash of the next node. Any other block is left to `source/archive/read-archive-block.ts`. The caller verifies the hashes.
import { ARCHIVE_SECTION_COUNT_MAX, POSITION_COUNT_MAX } from '../../layout/reading';
import { at, end, openBytes, partStart, readBytes, readCborHead, readVarint, value } from './bytes';

const positionBytes: u32 = 8;
const hashBytes: u32 = 32;
const cidBytes: u32 = 36;
/** The bytes of a CID before its hash, as a word: version 1, DAG-CBOR, SHA-256 of 32 bytes. */
const cidPrefix: u32 = 0x20127101;
const linkTag: u64 = 42;

const transactionKind: u32 = 0;
const entryKind: u32 = 1;
const blockKind: u32 = 2;
const frameKind: u32 = 6;

/** Start and end of the transactions of a binary block, relative to its start. */
export let positions: usize = 0;
/** Start and end of the nodes of a block of an archive, relative to its start. */
export let sections: usize = 0;
let positionCount: u32 = 0;
/** How many transactions the entries so far refer to. */
let linkedCount: u32 = 0;
/** For each entry the address of its hash. */
let entries: usize = 0;
let entryCount: u32 = 0;

export const ARCHIVE_BYTES: u32 = (POSITION_COUNT_MAX + ARCHIVE_SECTION_COUNT_MAX) * 8 + ARCHIVE_SECTION_COUNT_MAX * 4 + 64;

export function placeArchive(base: usize): void {
  positions = (base + 15) & ~15;
  sections = positions + <u32>POSITION_COUNT_MAX * positionBytes;
  entries = sections + <u32>ARCHIVE_SECTION_COUNT_MAX * positionBytes;
}

/** Returns how many transactions `listSections` has found. */
export function foundTransactionCount(): u32 {
  return positionCount;
}

/** Lists the nodes between two addresses. Returns how many there are, or 0 if the block must be read in another way. */
export function listSections(input: usize, start: usize, stop: usize): u32 {
  positionCount = 0;
  linkedCount = 0;
  entryCount = 0;
  openBytes(start, stop);
  let count: u32 = 0;
  while (at < end) {
    if (count == ARCHIVE_SECTION_COUNT_MAX || !readVarint()) return 0;
    if (value <= <u64>cidBytes || value > <u64>(end - at)) return 0;
    const cid = at;
    const node = cid + cidBytes;
    const nodeEnd = cid + <usize>value;
    if (load<u32>(cid) != cidPrefix) return 0;
    const position = sections + count++ * positionBytes;
    store<u32>(position, <u32>(node - input));
    store<u32>(position, <u32>(nodeEnd - input), 4);
    if (!addNode(position, node, nodeEnd)) return 0;
    // The only block is the last node.
    const isBlock = load<u8>(node, 1) == blockKind;
    if (isBlock || nodeEnd == stop) return isBlock && nodeEnd == stop ? count : 0;
    openBytes(nodeEnd, stop);
  }
  return 0;
}

function addNode(position: usize, node: usize, nodeEnd: usize): bool {
  openBytes(node, nodeEnd);
  if (!readCborHead(4)) return false;
  const elements = value;
  if (!readCborHead(0) || value > frameKind) return false;
  switch (<u32>value) {
    case transactionKind:
      if (positionCount == POSITION_COUNT_MAX) return false;
      store<u64>(positions + positionCount++ * positionBytes, load<u64>(position));
      return true;
    case entryKind:
      store<u32>(entries + (entryCount++ << 2), <u32>(node - hashBytes));
      if (elements != 4 || !readCborHead(0) || !readCborHead(2) || value != <u64>hashBytes || !readBytes(hashBytes)) return false;
      return linksTransactions(position, node) && at == end;
    case blockKind:
      return readCborHead(0) && skipLists() && linksEntries() && linkedCount == positionCount;
    default:
      return true;
  }
}

/** Returns whether an entry refers to the transactions before it that no other entry refers to, in order. */
function linksTransactions(position: usize, node: usize): bool {
  if (!readCborHead(4) || value != <u64>(positionCount - linkedCount)) return false;
  // Positions are relative to the start of the block, and this node has both.
  const input = node - load<u32>(position);
  for (; linkedCount < positionCount; linkedCount++) {
    const transaction = input + load<u32>(positions + linkedCount * positionBytes);
    if (!takeLinkTo(transaction - hashBytes)) return false;
  }
  return true;
}

/** Returns whether the block refers to all entries, in order. */
function linksEntries(): bool {
  if (!readCborHead(4) || value != <u64>entryCount) return false;
  for (let i: u32 = 0; i < entryCount; i++) if (!takeLinkTo(load<u32>(entries + (i << 2)))) return false;
  return true;
}

/** Reads a link and returns whether it has this hash: tag 42 and a byte string of a zero byte and the CID. */
function takeLinkTo(hash: usize): bool {
  if (!readCborHead(6) || value != linkTag || !readCborHead(2) || value != <u64>(cidBytes + 1)) return false;
  if (!readBytes(cidBytes + 1) || load<u8>(partStart) != 0 || load<u32>(partStart, 1) != cidPrefix) return false;
  return isSameHash(partStart + 5, hash);
}

function isSameHash(a: usize, b: usize): bool {
  const low = i8x16.eq(v128.load(a), v128.load(b));
  return i8x16.all_true(v128.and(low, i8x16.eq(v128.load(a, 16), v128.load(b, 16))));
}

/** Skips the list of shreds: a list of pairs of integers, of which the first can be negative. */
function skipLists(): bool {
  if (!readCborHead(4)) return false;
  for (let left = value; left > 0; left--) {
    if (!readCborHead(4) || value != 2 || !skipInteger() || !skipInteger()) return false;
  }
  return true;
}

function skipInteger(): bool {
  if (at == end) return false;
  return readCborHead(<u32>load<u8>(at) >> 5 == 1 ? 1 : 0);
}
