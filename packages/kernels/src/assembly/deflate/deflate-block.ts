// Writes the blocks of a raw deflate stream (RFC 1951) from the sequences that the match search found. Each block has the shortest of three forms: its
// own codes, the fixed codes of the format, or stored text.
import {
  DISTANCE_CODES, DISTANCE_COUNTS, HEADER_CODES, HEADER_COUNTS, HEADER_RUNS, HUFFMAN, LENGTH_CODES, LENGTH_COUNTS,
  LITERAL_COUNTS, LITERALS, SEQUENCES, SYMBOL_CODES, SYMBOL_COUNTS,
} from './deflate-memory';
import { distanceSymbol, LENGTH_MAX, LENGTH_MIN, literalsEnd, sequencesEnd } from './deflate-sequences';
import { assignCodes, buildCodes, huffmanInitialize } from './huffman';

// Block types, shifted past the bit that marks the last block, which is never set here.
const STORED: u32 = 0 << 1;
const FIXED: u32 = 1 << 1;
const DYNAMIC: u32 = 2 << 1;

const END_SYMBOL: u32 = 256;
const FIRST_LENGTH_SYMBOL: u32 = 257;
const SYMBOL_COUNT: u32 = 286;
const FIXED_SYMBOL_COUNT: u32 = 288;
const DISTANCE_COUNT: u32 = 30;
const HEADER_COUNT: u32 = 19;
/** The format allows 15. With 14, the codes of four literals and 7 pending bits fit in 64 bits. */
const SYMBOL_BITS_MAX: u32 = 14;
const DISTANCE_BITS_MAX: u32 = 15;
const HEADER_BITS_MAX: u32 = 7;

// Symbols of the header that encode runs of code lengths, and the possible run lengths.
const REPEAT: u32 = 16;
const ZEROS: u32 = 17;
const MANY_ZEROS: u32 = 18;
const RUN_MIN: u32 = 3;
const REPEAT_MAX: u32 = 6;
const ZEROS_MAX: u32 = 10;
const MANY_ZEROS_MAX: u32 = 138;
/** The order in which a header lists the lengths of its own codes. */
const HEADER_ORDER = memory.data<u8>([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]);

/** The output position, and up to 7 bits that do not fill a byte yet. */
let out: usize = 0;
let pending: u64 = 0;
let pendingCount: u64 = 0;

/** How many symbols of each alphabet the current block uses, and the end of the runs of its header. */
let symbolsUsed: u32 = 0;
let distancesUsed: u32 = 0;
let headersUsed: u32 = 0;
let runsEnd: usize = 0;

/** Starts a stream at an address. */
export function beginStream(output: usize): void {
  huffmanInitialize(HUFFMAN);
  out = output;
  pending = 0;
  pendingCount = 0;
}

/**
 * Ends at a byte boundary with an empty block, so that everything before it can be decoded and another stream can follow. Returns the end.
 */
export function flushStream(): usize {
  writeStored(out, 0);
  return out;
}

/** Writes a block from the current sequences. Its text is at `text`. */
export function writeBlock(text: usize, length: u32): void {
  countSymbols();
  buildCodes(SYMBOL_COUNTS, SYMBOL_COUNT, SYMBOL_BITS_MAX, SYMBOL_CODES);
  buildCodes(DISTANCE_COUNTS, DISTANCE_COUNT, DISTANCE_BITS_MAX, DISTANCE_CODES);
  const headerBits = prepareHeader();
  const extraBits = countExtraBits();
  const dynamicBits = headerBits + extraBits + countCodeBits();
  const storedBits: u32 = 40 + (length << 3);
  if (dynamicBits > storedBits >> 1) {
    // Another form can only be shorter here, where compression gains little: for unsuitable codes or a very short text.
    if (extraBits + countFixedBits() < min<u32>(dynamicBits, storedBits)) {
      setFixedCodes();
      put(FIXED, 3);
      writeSequences();
      return;
    }
    if (storedBits < dynamicBits) {
      writeStored(text, length);
      return;
    }
  }
  put(DYNAMIC, 3);
  writeHeader();
  writeSequences();
}

// @ts-ignore: decorator
@inline
function put(bits: u32, count: u32): void {
  pending |= <u64>bits << pendingCount;
  pendingCount += count;
  store<u64>(out, pending);
  out += <usize>(pendingCount >> 3);
  pending >>= pendingCount & ~7;
  pendingCount &= 7;
}

function writeStored(text: usize, length: u32): void {
  put(STORED, 3);
  if (pendingCount > 0) put(0, 8 - <u32>pendingCount);
  store<u16>(out, <u16>length);
  store<u16>(out, <u16>~length, 2);
  memory.copy(out + 4, text, length);
  out += 4 + length;
}

// @ts-ignore: decorator
@inline
function extraBitsOfLength(length: u32): u32 {
  if (length == LENGTH_MAX || length < LENGTH_MIN + 8) return 0;
  return 29 - clz(length - LENGTH_MIN);
}

// @ts-ignore: decorator
@inline
function lengthSymbol(length: u32): u32 {
  if (length == LENGTH_MAX) return FIRST_LENGTH_SYMBOL + 28;
  const rest = length - LENGTH_MIN;
  const extra = extraBitsOfLength(length);
  return FIRST_LENGTH_SYMBOL + (extra << 2) + (rest >> extra);
}

// @ts-ignore: decorator
@inline
function extraBitsOfDistance(symbol: u32): u32 {
  return symbol < 4 ? 0 : (symbol >> 1) - 1;
}

// @ts-ignore: decorator
@inline
function countLiteral(value: u32, table: u32): void {
  const counter = LITERAL_COUNTS + (table << 10) + (value << 2);
  store<u32>(counter, load<u32>(counter) + 1);
}

function countSymbols(): void {
  memory.fill(LITERAL_COUNTS, 0, 4096);
  let at = LITERALS;
  for (; at + 4 <= literalsEnd; at += 4) {
    const four = load<u32>(at);
    countLiteral(four & 0xff, 0);
    countLiteral((four >> 8) & 0xff, 1);
    countLiteral((four >> 16) & 0xff, 2);
    countLiteral(four >> 24, 3);
  }
  for (; at < literalsEnd; at++) countLiteral(load<u8>(at), 0);
  for (let offset: usize = 0; offset < 1024; offset += 16) {
    const counter = LITERAL_COUNTS + offset;
    const low = i32x4.add(v128.load(counter), v128.load(counter, 1024));
    const high = i32x4.add(v128.load(counter, 2048), v128.load(counter, 3072));
    v128.store(SYMBOL_COUNTS + offset, i32x4.add(low, high));
  }
  memory.fill(SYMBOL_COUNTS + (END_SYMBOL << 2), 0, (SYMBOL_COUNT - END_SYMBOL) << 2);
  store<u32>(SYMBOL_COUNTS + (END_SYMBOL << 2), 1);
  for (let length = LENGTH_MIN; length <= LENGTH_MAX; length++) {
    const counter = SYMBOL_COUNTS + (lengthSymbol(length) << 2);
    store<u32>(counter, load<u32>(counter) + load<u32>(LENGTH_COUNTS + (length << 2)));
  }
}

// @ts-ignore: decorator
@inline
function bitsOf(counts: usize, codes: usize, symbolCount: u32): u32 {
  let bits: u32 = 0;
  for (let offset: usize = 0; offset < symbolCount << 2; offset += 4) {
    bits += load<u32>(counts + offset) * (load<u32>(codes + offset) & 0xff);
  }
  return bits;
}

function countCodeBits(): u32 {
  return bitsOf(SYMBOL_COUNTS, SYMBOL_CODES, SYMBOL_COUNT) + bitsOf(DISTANCE_COUNTS, DISTANCE_CODES, DISTANCE_COUNT);
}

function countExtraBits(): u32 {
  let bits: u32 = 0;
  for (let length = LENGTH_MIN; length <= LENGTH_MAX; length++) {
    bits += load<u32>(LENGTH_COUNTS + (length << 2)) * extraBitsOfLength(length);
  }
  for (let symbol: u32 = 0; symbol < DISTANCE_COUNT; symbol++) {
    bits += load<u32>(DISTANCE_COUNTS + (symbol << 2)) * extraBitsOfDistance(symbol);
  }
  return bits;
}

// @ts-ignore: decorator
@inline
function fixedLength(symbol: u32): u32 {
  if (symbol < 144) return 8;
  if (symbol < 256) return 9;
  return symbol < 280 ? 7 : 8;
}

function countFixedBits(): u32 {
  let bits: u32 = 3;
  for (let symbol: u32 = 0; symbol < SYMBOL_COUNT; symbol++) {
    bits += load<u32>(SYMBOL_COUNTS + (symbol << 2)) * fixedLength(symbol);
  }
  for (let symbol: u32 = 0; symbol < DISTANCE_COUNT; symbol++) {
    bits += load<u32>(DISTANCE_COUNTS + (symbol << 2)) * 5;
  }
  return bits;
}

function setFixedCodes(): void {
  for (let symbol: u32 = 0; symbol < FIXED_SYMBOL_COUNT; symbol++) {
    store<u32>(SYMBOL_CODES + (symbol << 2), fixedLength(symbol));
  }
  assignCodes(SYMBOL_CODES, FIXED_SYMBOL_COUNT);
  for (let symbol: u32 = 0; symbol < DISTANCE_COUNT; symbol++) store<u32>(DISTANCE_CODES + (symbol << 2), 5);
  assignCodes(DISTANCE_CODES, DISTANCE_COUNT);
}

// @ts-ignore: decorator
@inline
function usedCount(codes: usize, count: u32, least: u32): u32 {
  while (count > least && load<u32>(codes + ((count - 1) << 2)) == 0) count--;
  return count;
}

// @ts-ignore: decorator
@inline
function codeLengthAt(index: u32): u32 {
  const code = index < symbolsUsed ? SYMBOL_CODES + (index << 2) : DISTANCE_CODES + ((index - symbolsUsed) << 2);
  return load<u32>(code) & 0xff;
}

function addRun(symbol: u32, extra: u32): void {
  store<u8>(runsEnd, <u8>symbol);
  store<u8>(runsEnd, <u8>extra, 1);
  runsEnd += 2;
  const counter = HEADER_COUNTS + (symbol << 2);
  store<u32>(counter, load<u32>(counter) + 1);
}

function addRuns(length: u32, count: u32): void {
  if (length == 0) {
    while (count >= RUN_MIN) {
      const taken = min<u32>(count, MANY_ZEROS_MAX);
      if (taken > ZEROS_MAX) addRun(MANY_ZEROS, taken - ZEROS_MAX - 1);
      else addRun(ZEROS, taken - RUN_MIN);
      count -= taken;
    }
  } else if (count > RUN_MIN) {
    addRun(length, 0);
    for (count--; count >= RUN_MIN; ) {
      const taken = min<u32>(count, REPEAT_MAX);
      addRun(REPEAT, taken - RUN_MIN);
      count -= taken;
    }
  }
  for (; count > 0; count--) addRun(length, 0);
}

// @ts-ignore: decorator
@inline
function extraBitsOfRun(symbol: u32): u32 {
  if (symbol < REPEAT) return 0;
  return symbol == REPEAT ? 2 : symbol == ZEROS ? 3 : 7;
}

// @ts-ignore: decorator
@inline
function orderedHeaderCode(index: u32): usize {
  return HEADER_CODES + (<usize>load<u8>(HEADER_ORDER + index) << 2);
}

/** Returns the size in bits of the block's header with its own codes. */
function prepareHeader(): u32 {
  symbolsUsed = usedCount(SYMBOL_CODES, SYMBOL_COUNT, FIRST_LENGTH_SYMBOL);
  distancesUsed = usedCount(DISTANCE_CODES, DISTANCE_COUNT, 1);
  memory.fill(HEADER_COUNTS, 0, HEADER_COUNT << 2);
  runsEnd = HEADER_RUNS;
  const end = symbolsUsed + distancesUsed;
  for (let start: u32 = 0; start < end; ) {
    const length = codeLengthAt(start);
    let next = start + 1;
    while (next < end && codeLengthAt(next) == length) next++;
    addRuns(length, next - start);
    start = next;
  }
  buildCodes(HEADER_COUNTS, HEADER_COUNT, HEADER_BITS_MAX, HEADER_CODES);
  headersUsed = HEADER_COUNT;
  while (headersUsed > 4 && load<u32>(orderedHeaderCode(headersUsed - 1)) == 0) headersUsed--;
  let bits: u32 = 17 + headersUsed * 3 + bitsOf(HEADER_COUNTS, HEADER_CODES, HEADER_COUNT);
  for (let symbol = REPEAT; symbol < HEADER_COUNT; symbol++) {
    bits += load<u32>(HEADER_COUNTS + (symbol << 2)) * extraBitsOfRun(symbol);
  }
  return bits;
}

function writeHeader(): void {
  put(symbolsUsed - FIRST_LENGTH_SYMBOL, 5);
  put(distancesUsed - 1, 5);
  put(headersUsed - 4, 4);
  for (let index: u32 = 0; index < headersUsed; index++) put(load<u32>(orderedHeaderCode(index)) & 0xff, 3);
  for (let run = HEADER_RUNS; run < runsEnd; run += 2) {
    const symbol: u32 = load<u8>(run);
    const code = load<u32>(HEADER_CODES + (symbol << 2));
    put(code >> 8, code & 0xff);
    put(load<u8>(run, 1), extraBitsOfRun(symbol));
  }
}

/** Combines the code and extra bits of each match length, so that one lookup gives both. */
function joinLengthCodes(): void {
  for (let length = LENGTH_MIN; length <= LENGTH_MAX; length++) {
    const code = load<u32>(SYMBOL_CODES + (lengthSymbol(length) << 2));
    const codeBits = code & 0xff;
    const extraBits = extraBitsOfLength(length);
    const extra = (length - LENGTH_MIN) & ((1 << extraBits) - 1);
    store<u32>(LENGTH_CODES + (length << 2), (((code >> 8) | (extra << codeBits)) << 8) | (codeBits + extraBits));
  }
}

// @ts-ignore: decorator
@inline
function literalCode(value: u32): u64 {
  return load<u32>(value << 2, SYMBOL_CODES);
}

// @ts-ignore: decorator
@inline
function maskIf(condition: bool): u64 {
  return 0 - <u64>condition;
}

function writeSequences(): void {
  joinLengthCodes();
  // Local variables, which the compiler keeps in registers.
  let at = out;
  let bits = pending;
  let count = pendingCount;
  let literals = LITERALS;
  for (let sequence = SEQUENCES; sequence < sequencesEnd; sequence += 8) {
    let literalCount = load<u32>(sequence);
    for (; literalCount >= 4; literalCount -= 4) {
      const four = load<u32>(literals);
      literals += 4;
      const code0 = literalCode(four & 0xff);
      const code1 = literalCode((four >> 8) & 0xff);
      const code2 = literalCode((four >> 16) & 0xff);
      const code3 = literalCode(four >> 24);
      const low = (code0 >> 8) | ((code1 >> 8) << (code0 & 0xff));
      const high = (code2 >> 8) | ((code3 >> 8) << (code2 & 0xff));
      const lowCount = (code0 & 0xff) + (code1 & 0xff);
      bits |= (low | (high << lowCount)) << count;
      count += lowCount + (code2 & 0xff) + (code3 & 0xff);
      store<u64>(at, bits);
      at += <usize>(count >> 3);
      bits >>= count & ~7;
      count &= 7;
    }
    // Writes up to three remaining literals without a branch.
    const three = load<u32>(literals);
    literals += literalCount;
    const code0 = literalCode(three & 0xff) & maskIf(literalCount > 0);
    const code1 = literalCode((three >> 8) & 0xff) & maskIf(literalCount > 1);
    const code2 = literalCode((three >> 16) & 0xff) & maskIf(literalCount > 2);
    const low = (code0 >> 8) | ((code1 >> 8) << (code0 & 0xff));
    const lowCount = (code0 & 0xff) + (code1 & 0xff);
    bits |= (low | ((code2 >> 8) << lowCount)) << count;
    count += lowCount + (code2 & 0xff);
    store<u64>(at, bits);
    at += <usize>(count >> 3);
    bits >>= count & ~7;
    count &= 7;
    const match = load<u32>(sequence, 4);
    if (match == 0) continue;
    const lengthCode: u64 = load<u32>((match & 0xffff) << 2, LENGTH_CODES);
    bits |= (lengthCode >> 8) << count;
    count += lengthCode & 0xff;
    const distance = match >> 16;
    const symbol = distanceSymbol(distance);
    const distanceCode: u64 = load<u32>(symbol << 2, DISTANCE_CODES);
    bits |= (distanceCode >> 8) << count;
    count += distanceCode & 0xff;
    const extraBits = extraBitsOfDistance(symbol);
    bits |= <u64>(distance & ((1 << extraBits) - 1)) << count;
    count += extraBits;
    store<u64>(at, bits);
    at += <usize>(count >> 3);
    bits >>= count & ~7;
    count &= 7;
  }
  out = at;
  pending = bits;
  pendingCount = count;
  const end = load<u32>(SYMBOL_CODES + (END_SYMBOL << 2));
  put(end >> 8, end & 0xff);
}
