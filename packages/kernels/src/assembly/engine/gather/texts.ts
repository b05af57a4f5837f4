// Gathers bytes and texts into the buffers of Arrow columns: the start of each value, and the bytes of all.
import { loadInt } from '../columns';
import { clearBit, isRun, rowAt } from './rows';

/** The text `null`, which stands for a null value. */
const NULL_TEXT: u32 = 0x6c6c756e;

/** Copies the bytes of each row. `scale` is the number of bytes of a value, as a power of two. */
export function gatherRanges(bytes: usize, starts: usize, scale: u32, rows: usize, count: u32, outStarts: usize, out: usize): void {
  if (isRun(rows, count)) {
    const row = rowAt(rows, 0);
    const start = rowAt(starts, row);
    for (let i: u32 = 0; i <= count; i++) store<u32>(outStarts + (i << 2), rowAt(starts, row + i) - start);
    return memory.copy(out, bytes + (start << scale), rowAt(outStarts, count) << scale);
  }
  let at: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    const length = rowAt(starts, row + 1) - start;
    store<u32>(outStarts + (i << 2), at);
    memory.copy(out + (at << scale), bytes + (start << scale), length << scale);
    at += length;
  }
  store<u32>(outStarts + (count << 2), at);
}

/** Copies texts that are stored as in JSON, without their quotes, and replaces escape sequences. */
export function gatherEscaped(bytes: usize, starts: usize, rows: usize, count: u32, outStarts: usize, out: usize): void {
  const first = out;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    out = unescape(bytes + rowAt(starts, row), bytes + rowAt(starts, row + 1), out);
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
}

/**
 * Copies texts of JSON by their codes; the text `null` is a null. `isText` says whether they are JSON strings, whose quotes are removed.
 */
export function gatherCoded(
  codes: usize, width: u32, bytes: usize, starts: usize, isText: bool, rows: usize, count: u32, outStarts: usize, out: usize, valid: usize,
): u32 {
  const first = out;
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const code = loadInt(codes, width, rowAt(rows, i));
    const from = bytes + rowAt(starts, code);
    const end = bytes + rowAt(starts, code + 1);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    if (end - from == 4 && load<u32>(from) == NULL_TEXT) {
      clearBit(valid, i);
      nullCount++;
    } else if (isText) out = unescape(from + 1, end - 1, out);
    else {
      memory.copy(out, from, end - from);
      out += end - from;
    }
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
  return nullCount;
}

/** Clears the bits of rows whose text is `null`. */
export function gatherNullTexts(bytes: usize, starts: usize, rows: usize, count: u32, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    if (rowAt(starts, row + 1) - start != 4 || load<u32>(bytes + start) != NULL_TEXT) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** Copies a JSON string without its quotes and replaces its escape sequences. Returns the end of the output. */
function unescape(from: usize, end: usize, out: usize): usize {
  while (from < end) {
    // Up to 16 bytes are copied at once. Those after a backslash are wrong, and the next copy overwrites them.
    const some = v128.load(from);
    v128.store(out, some);
    const mask = i8x16.bitmask(i8x16.eq(some, i8x16.splat(0x5c)));
    let plain: usize = mask == 0 ? 16 : ctz(mask);
    if (plain > end - from) plain = end - from;
    from += plain;
    out += plain;
    if (from >= end || plain == 16) continue;
    const code = load<u8>(from, 1);
    if (code == 0x75) {
      out = writeUtf8(readHex4(from + 2), out);
      from += 6;
    } else {
      store<u8>(out++, controlOf(code));
      from += 2;
    }
  }
  return out;
}

/** The character of an escape sequence of two characters. */
function controlOf(code: u8): u8 {
  switch (code) {
    case 0x62: return 0x08;
    case 0x66: return 0x0c;
    case 0x6e: return 0x0a;
    case 0x72: return 0x0d;
    case 0x74: return 0x09;
    default: return code;
  }
}

function readHex4(at: usize): u32 {
  let value: u32 = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const digit: u32 = load<u8>(at + i);
    value = (value << 4) | (digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57);
  }
  return value;
}

/** Stored texts have escape sequences only for control characters, so a code is never half of a pair. */
function writeUtf8(code: u32, out: usize): usize {
  if (code < 0x80) {
    store<u8>(out, code);
    return out + 1;
  }
  if (code < 0x800) {
    store<u8>(out, 0xc0 | (code >> 6));
    store<u8>(out, 0x80 | (code & 0x3f), 1);
    return out + 2;
  }
  store<u8>(out, 0xe0 | (code >> 12));
  store<u8>(out, 0x80 | ((code >> 6) & 0x3f), 1);
  store<u8>(out, 0x80 | (code & 0x3f), 2);
  return out + 3;
}

/** The first bytes of the data in hex, or null if the data is shorter. */
export function gatherHex(
  bytes: usize, starts: usize, byteCount: u32, rows: usize, count: u32, outStarts: usize, out: usize, valid: usize,
): u32 {
  const first = out;
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    if (rowAt(starts, row + 1) - start < byteCount) {
      clearBit(valid, i);
      nullCount++;
      continue;
    }
    store<u16>(out, 0x7830);
    out += 2;
    for (let k: u32 = 0; k < byteCount; k++, out += 2) {
      const byte: u32 = load<u8>(bytes + start + k);
      store<u8>(out, hexDigit(byte >> 4));
      store<u8>(out, hexDigit(byte & 15), 1);
    }
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
  return nullCount;
}

// @ts-ignore: decorator
@inline
function hexDigit(value: u32): u32 {
  return value < 10 ? value + 0x30 : value + 0x57;
}
