// Decodes Zstandard frames (RFC 8878), such as the metadata of archived transactions: thousands of small frames a block, for which
// the cost of starting a decoder in JavaScript would exceed that of decoding. A frame is decoded as a whole into one buffer, so its window
// is the output itself. Every length is compared with the bytes that are left before they are read, and 16 bytes after the input and
// the output may be read or written. Dictionaries are not supported.
import { ZSTD_CHECKSUM, ZSTD_DICTIONARY, ZSTD_INVALID, ZSTD_NOT_ZSTD, ZSTD_TOO_LARGE, ZSTD_TRUNCATED } from '../../layout/reading';
import {
  buildFse, decodeHuffman, FSE_TABLES_BYTES, fseTableBytes, hasHuffman, HUFFMAN_BYTES, placeHuffman, readFseTable, readHuffman,
  setSingleSymbol, tableBytesRead, forgetHuffman,
} from './zstd-tables';
import { xxh64 } from './xxh64';

const blockBytesMax: u32 = 128 << 10;
const literalLogMax: u32 = 9;
const offsetLogMax: u32 = 8;
const matchLogMax: u32 = 9;
const literalCodeMax: u32 = 35;
const offsetCodeMax: u32 = 31;
const matchCodeMax: u32 = 52;

/** Baselines and numbers of extra bits of the codes of lengths, as pairs of 32 bits. */
const literalCodes = memory.data<u32>([
  0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15, 0, 16, 1, 18, 1, 20, 1, 22, 1,
  24, 2, 28, 2, 32, 3, 40, 3, 48, 4, 64, 6, 128, 7, 256, 8, 512, 9, 1024, 10, 2048, 11, 4096, 12, 8192, 13, 16384, 14, 32768, 15,
  65536, 16,
]);
const matchCodes = memory.data<u32>([
  3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15, 0, 16, 0, 17, 0, 18, 0, 19, 0, 20, 0, 21, 0, 22, 0,
  23, 0, 24, 0, 25, 0, 26, 0, 27, 0, 28, 0, 29, 0, 30, 0, 31, 0, 32, 0, 33, 0, 34, 0, 35, 1, 37, 1, 39, 1, 41, 1, 43, 2, 47, 2, 51, 3,
  59, 3, 67, 4, 83, 4, 99, 5, 131, 7, 259, 8, 515, 9, 1027, 10, 2051, 11, 4099, 12, 8195, 13, 16387, 14, 32771, 15, 65539, 16,
]);
/** The predefined distributions. -1 stands for a probability below one. */
const literalDefaults = memory.data<i16>([
  4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
]);
const offsetDefaults = memory.data<i16>([
  1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
]);
const matchDefaults = memory.data<i16>([
  1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  -1, -1, -1, -1, -1, -1, -1,
]);

/** Tables of the three codes: predefined, and those of the current frame. */
let literalPredefined: usize = 0;
let offsetPredefined: usize = 0;
let matchPredefined: usize = 0;
let literalOwn: usize = 0;
let offsetOwn: usize = 0;
let matchOwn: usize = 0;
/** The table of each code in the current block, 0 if the frame has none yet, and the logarithms of their sizes. */
let literalTable: usize = 0;
let offsetTable: usize = 0;
let matchTable: usize = 0;
let literalLog: u32 = 0;
let offsetLog: u32 = 0;
let matchLog: u32 = 0;

let literalBuffer: usize = 0;
let literals: usize = 0;
let literalCount: u32 = 0;

let at: usize = 0;
let outStart: usize = 0;
let out: usize = 0;
let outEnd: usize = 0;
let repeat1: u32 = 0;
let repeat2: u32 = 0;
let repeat3: u32 = 0;

export const ZSTD_BYTES: u32 = FSE_TABLES_BYTES + HUFFMAN_BYTES + blockBytesMax + 64;

/** Places the tables. `base` must be aligned to 8 bytes. */
export function placeZstd(base: usize): void {
  literalPredefined = base;
  offsetPredefined = literalPredefined + fseTableBytes(literalLogMax);
  matchPredefined = offsetPredefined + fseTableBytes(offsetLogMax);
  literalOwn = matchPredefined + fseTableBytes(matchLogMax);
  offsetOwn = literalOwn + fseTableBytes(literalLogMax);
  matchOwn = offsetOwn + fseTableBytes(offsetLogMax);
  placeHuffman(base + FSE_TABLES_BYTES);
  literalBuffer = base + FSE_TABLES_BYTES + HUFFMAN_BYTES;
  buildFse(literalPredefined, literalDefaults, literalCodeMax + 1, 6);
  buildFse(offsetPredefined, offsetDefaults, 29, 5);
  buildFse(matchPredefined, matchDefaults, matchCodeMax + 1, 6);
}

/** Returns how many bytes of the input were read before the fault. */
export function zstdReadBytes(input: usize): u32 {
  return <u32>(at - input);
}

/**
 * Decodes the input, which must be a single frame. Returns the number of bytes that were written, or a negative number: the fault of
 * `layout/reading.ts`.
 */
export function zstdDecode(input: usize, length: u32, output: usize, capacity: u32): i32 {
  const end = input + length;
  at = input;
  outStart = output;
  out = output;
  outEnd = output + capacity;
  if (length < 5) return ZSTD_TRUNCATED;
  if (load<u32>(at) != 0xfd2fb528) return ZSTD_NOT_ZSTD;
  const descriptor = <u32>load<u8>(at, 4);
  at += 5;
  const fault = readFrameHeader(descriptor, end);
  if (fault < 0) return fault;
  literalTable = 0;
  offsetTable = 0;
  matchTable = 0;
  forgetHuffman();
  repeat1 = 1;
  repeat2 = 4;
  repeat3 = 8;
  let isLast = false;
  while (!isLast) {
    if (end - at < 3) return ZSTD_TRUNCATED;
    const header = load<u32>(at) & 0xffffff;
    at += 3;
    isLast = (header & 1) != 0;
    const blockFault = decodeBlock((header >> 1) & 3, header >> 3, end);
    if (blockFault < 0) return blockFault;
  }
  if (contentBytes != u64.MAX_VALUE && contentBytes != <u64>(out - outStart)) return ZSTD_INVALID;
  if ((descriptor & 4) != 0) {
    if (end - at < 4) return ZSTD_TRUNCATED;
    if (<u32>xxh64(outStart, <u32>(out - outStart)) != load<u32>(at)) return ZSTD_CHECKSUM;
    at += 4;
  }
  return at == end ? <i32>(out - outStart) : ZSTD_INVALID;
}

/** The size of the content that the frame declares, or all ones. */
let contentBytes: u64 = 0;

function readFrameHeader(descriptor: u32, end: usize): i32 {
  if ((descriptor & 8) != 0) return ZSTD_INVALID;
  const isSingle = (descriptor & 0x20) != 0;
  if (!isSingle) at++;
  const dictionary = descriptor & 3;
  if (dictionary != 0) return ZSTD_DICTIONARY;
  const sizeFlag = descriptor >> 6;
  const sizeBytes: u32 = sizeFlag == 0 ? (isSingle ? 1 : 0) : 1 << sizeFlag;
  if (at + sizeBytes > end) return ZSTD_TRUNCATED;
  contentBytes = u64.MAX_VALUE;
  if (sizeBytes == 1) contentBytes = load<u8>(at);
  else if (sizeBytes == 2) contentBytes = <u64>load<u16>(at) + 256;
  else if (sizeBytes == 4) contentBytes = load<u32>(at);
  else if (sizeBytes == 8) contentBytes = load<u64>(at);
  at += sizeBytes;
  return contentBytes != u64.MAX_VALUE && contentBytes > <u64>(outEnd - outStart) ? ZSTD_TOO_LARGE : 0;
}

function decodeBlock(type: u32, size: u32, end: usize): i32 {
  if (type == 1) {
    if (at == end) return ZSTD_TRUNCATED;
    if (size > blockBytesMax) return ZSTD_INVALID;
    if (size > <u32>(outEnd - out)) return ZSTD_TOO_LARGE;
    memory.fill(out, load<u8>(at++), size);
    out += size;
    return 0;
  }
  if (size > blockBytesMax || type == 3) return ZSTD_INVALID;
  if (size > <u32>(end - at)) return ZSTD_TRUNCATED;
  if (type == 0) {
    if (size > <u32>(outEnd - out)) return ZSTD_TOO_LARGE;
    memory.copy(out, at, size);
    out += size;
    at += size;
    return 0;
  }
  const blockEnd = at + size;
  const fault = readLiterals(blockEnd);
  return fault < 0 ? fault : decodeSequences(blockEnd);
}

function readLiterals(end: usize): i32 {
  if (end - at < 2) return ZSTD_INVALID;
  const type = <u32>load<u8>(at) & 3;
  return type < 2 ? readPlainLiterals(type == 1, end) : readHuffmanLiterals(type == 3, end);
}

function readPlainLiterals(isRepeated: bool, end: usize): i32 {
  const format = (<u32>load<u8>(at) >> 2) & 3;
  const headerBytes: u32 = (format & 1) == 0 ? 1 : format == 1 ? 2 : 3;
  if (<u32>(end - at) < headerBytes) return ZSTD_INVALID;
  literalCount = headerBytes == 1 ? <u32>load<u8>(at) >> 3 : headerBytes == 2 ? <u32>load<u16>(at) >> 4 : (load<u32>(at) & 0xffffff) >> 4;
  at += headerBytes;
  if (literalCount > blockBytesMax) return ZSTD_INVALID;
  if (isRepeated) {
    if (at == end) return ZSTD_INVALID;
    memory.fill(literalBuffer, load<u8>(at++), literalCount);
    literals = literalBuffer;
    return 0;
  }
  if (literalCount > <u32>(end - at)) return ZSTD_INVALID;
  literals = at;
  at += literalCount;
  return 0;
}

function readHuffmanLiterals(usesLastTree: bool, end: usize): i32 {
  const format = (<u32>load<u8>(at) >> 2) & 3;
  const headerBytes: u32 = format < 2 ? 3 : format + 2;
  if (<u32>(end - at) < headerBytes) return ZSTD_INVALID;
  const header = load<u64>(at);
  const bits: u64 = format < 2 ? 10 : format == 2 ? 14 : 18;
  const mask: u64 = (<u64>1 << bits) - 1;
  literalCount = <u32>((header >> 4) & mask);
  const packedBytes = <u32>((header >> (4 + bits)) & mask);
  at += headerBytes;
  if (literalCount > blockBytesMax || packedBytes > <u32>(end - at)) return ZSTD_INVALID;
  const packedEnd = at + packedBytes;
  if (!usesLastTree) {
    if (!readHuffman(at, packedEnd)) return ZSTD_INVALID;
    at += tableBytesRead;
  } else if (!hasHuffman) {
    return ZSTD_INVALID;
  }
  literals = literalBuffer;
  const isDecoded = format == 0 ? decodeHuffman(at, packedEnd, literalBuffer, literalCount) : decodeFourStreams(packedEnd);
  at = packedEnd;
  return isDecoded ? 0 : ZSTD_INVALID;
}

function decodeFourStreams(end: usize): bool {
  if (end - at < 10) return false;
  const first = at + 6;
  const second = first + load<u16>(at);
  const third = second + load<u16>(at, 2);
  const fourth = third + load<u16>(at, 4);
  const share = (literalCount + 3) >> 2;
  if (fourth > end || share * 3 > literalCount) return false;
  return (
    decodeHuffman(first, second, literalBuffer, share) &&
    decodeHuffman(second, third, literalBuffer + share, share) &&
    decodeHuffman(third, fourth, literalBuffer + share * 2, share) &&
    decodeHuffman(fourth, end, literalBuffer + share * 3, literalCount - share * 3)
  );
}

function decodeSequences(end: usize): i32 {
  if (at == end) return ZSTD_INVALID;
  let count = <u32>load<u8>(at++);
  if (count >= 128) {
    const more: u32 = count == 255 ? 2 : 1;
    if (<u32>(end - at) < more) return ZSTD_INVALID;
    count = count == 255 ? <u32>load<u16>(at) + 0x7f00 : ((count - 128) << 8) + <u32>load<u8>(at);
    at += more;
  }
  if (count == 0) return at == end ? copyRest() : ZSTD_INVALID;
  if (!readTables(end)) return ZSTD_INVALID;
  const fault = runSequences(count, end);
  if (fault < 0) return fault;
  at = end;
  return copyRest();
}

function copyRest(): i32 {
  if (literalCount > <u32>(outEnd - out)) return ZSTD_TOO_LARGE;
  memory.copy(out, literals, literalCount);
  out += literalCount;
  return 0;
}

function readTables(end: usize): bool {
  if (at == end) return false;
  const modes = <u32>load<u8>(at++);
  if ((modes & 3) != 0) return false;
  literalTable = readTable(modes >> 6, end, literalTable, literalPredefined, literalOwn, 6, literalLogMax, literalCodeMax, literalLog);
  literalLog = tableLog;
  if (literalTable == 0) return false;
  offsetTable = readTable((modes >> 4) & 3, end, offsetTable, offsetPredefined, offsetOwn, 5, offsetLogMax, offsetCodeMax, offsetLog);
  offsetLog = tableLog;
  if (offsetTable == 0) return false;
  matchTable = readTable((modes >> 2) & 3, end, matchTable, matchPredefined, matchOwn, 6, matchLogMax, matchCodeMax, matchLog);
  matchLog = tableLog;
  return matchTable != 0;
}

let tableLog: u32 = 0;

/** Returns the table of a code for this block and sets `tableLog`, or returns 0 if it is invalid. */
function readTable(
  mode: u32, end: usize, last: usize, predefined: usize, described: usize, predefinedLog: u32, logMax: u32, codeMax: u32, lastLog: u32,
): usize {
  tableLog = lastLog;
  if (mode == 3) return last;
  if (mode == 0) {
    tableLog = predefinedLog;
    return predefined;
  }
  if (mode == 1) {
    if (at == end || <u32>load<u8>(at) > codeMax) return 0;
    setSingleSymbol(described, load<u8>(at++));
    tableLog = 0;
    return described;
  }
  const log = readFseTable(described, at, end, logMax, codeMax);
  if (log < 0) return 0;
  at += tableBytesRead;
  tableLog = <u32>log;
  return described;
}

/** The bits of the sequences, read from the end: their start and the number that is left. */
let bitStart: usize = 0;
let bitsLeft: i32 = 0;

// @ts-ignore: decorator
@inline
function readBits(count: u32): u32 {
  bitsLeft -= <i32>count;
  // A negative number of bits is noticed at the end of the sequence; the address stays near the bits.
  const from = max(bitsLeft, 0);
  return <u32>(load<u64>(bitStart + (from >> 3)) >> (from & 7)) & <u32>((<u64>1 << count) - 1);
}

function runSequences(count: u32, end: usize): i32 {
  if (at == end || load<u8>(end - 1) == 0) return ZSTD_INVALID;
  bitStart = at;
  bitsLeft = <i32>((end - at) << 3) - <i32>(clz(<u32>load<u8>(end - 1)) - 23);
  let literalState = literalTable + (readBits(literalLog) << 2);
  let offsetState = offsetTable + (readBits(offsetLog) << 2);
  let matchState = matchTable + (readBits(matchLog) << 2);
  while (true) {
    const literalEntry = load<u32>(literalState);
    const offsetEntry = load<u32>(offsetState);
    const matchEntry = load<u32>(matchState);
    const offsetCode = offsetEntry & 0xff;
    const offsetValue = (<u32>1 << offsetCode) + readBits(offsetCode);
    const matchCode = matchCodes + ((matchEntry & 0xff) << 3);
    const matchLength = load<u32>(matchCode) + readBits(load<u32>(matchCode, 4));
    const literalCode = literalCodes + ((literalEntry & 0xff) << 3);
    const literalLength = load<u32>(literalCode) + readBits(load<u32>(literalCode, 4));
    if (bitsLeft < 0) return ZSTD_INVALID;
    const fault = copySequence(literalLength, matchLength, offsetOf(offsetValue, literalLength == 0));
    if (fault < 0) return fault;
    if (--count == 0) return bitsLeft == 0 ? 0 : ZSTD_INVALID;
    literalState = literalTable + (((literalEntry >> 16) + readBits((literalEntry >> 8) & 0xff)) << 2);
    matchState = matchTable + (((matchEntry >> 16) + readBits((matchEntry >> 8) & 0xff)) << 2);
    offsetState = offsetTable + (((offsetEntry >> 16) + readBits((offsetEntry >> 8) & 0xff)) << 2);
    if (bitsLeft < 0) return ZSTD_INVALID;
  }
}

/** Returns the distance of a match. The values 1 to 3 stand for recent distances. */
function offsetOf(value: u32, hasNoLiterals: bool): u32 {
  if (value > 3) {
    repeat3 = repeat2;
    repeat2 = repeat1;
    repeat1 = value - 3;
    return repeat1;
  }
  const index = hasNoLiterals ? value + 1 : value;
  if (index == 1) return repeat1;
  const offset = index == 2 ? repeat2 : index == 3 ? repeat3 : repeat1 - 1;
  if (index != 2) repeat3 = repeat2;
  repeat2 = repeat1;
  repeat1 = offset;
  return offset;
}

function copySequence(literalLength: u32, matchLength: u32, offset: u32): i32 {
  if (literalLength > literalCount) return ZSTD_INVALID;
  if (literalLength + matchLength > <u32>(outEnd - out)) return ZSTD_TOO_LARGE;
  for (let i: u32 = 0; i < literalLength; i += 16) v128.store(out + i, v128.load(literals + i));
  literals += literalLength;
  literalCount -= literalLength;
  out += literalLength;
  if (offset == 0 || offset > <u32>(out - outStart)) return ZSTD_INVALID;
  const from = out - offset;
  if (offset >= 16) for (let i: u32 = 0; i < matchLength; i += 16) v128.store(out + i, v128.load(from + i));
  else for (let i: u32 = 0; i < matchLength; i++) store<u8>(out + i, load<u8>(from + i));
  out += matchLength;
  return 0;
}
