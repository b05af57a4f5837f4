// Runs the code of a type: reads a value from the data of an instruction or event and writes its JSON text. `layout/decoding.ts` defines the
// operations. Every function returns the end of the text, or 0 if the host must decode the row: because its data does not fit the code, so
// that the text is an error, because the code has an operation that is not here, or because the text does not fit before the limit.
import {
  NUMBER_REMAINDER, OP_BOOLEAN, OP_BYTES, OP_CALL, OP_END, OP_ENUM, OP_I16, OP_I32, OP_I64, OP_I8, OP_INTEGER, OP_KEY, OP_LIST, OP_MOVED,
  OP_OPTION, OP_REMAINDER_OPTION, OP_SHORT, OP_SILENT, OP_SIZED, OP_TERMINATED, OP_TEXT, OP_U16, OP_U32, OP_U64, OP_U8, OP_UTF8, OP_ZEROABLE,
} from '../../../layout/decoding';
import { copyText } from '../write-texts';
import { at, end, FAILED, move, openData, readNumber, readShort, setAt, setEnd, take } from './cursor';
import { writeHexText } from './hex-digits';
import { writeJsonText } from './json-text';
import { writeKeyBytes } from './key-cache';
import { writeInteger, writeSigned, writeUnsigned } from './numbers';

/** The limits of `cursor.ts` and `compile-type.ts` in the package `decode`: the parts of a value, and the nesting of defined types. */
const PART_COUNT_MAX: u32 = 20_000;
const TYPE_DEPTH_MAX: u32 = 64;
/** The nesting of code. Every level takes space on the stack; the host decodes what is nested more deeply. */
const CODE_DEPTH_MAX: u32 = 160;
/** The space for a value of fixed size with a comma and a bracket. */
const VALUE_BYTES_MAX: usize = 128;

const NULL_TEXT: u32 = 0x6c6c756e;

let decoder: usize = 0;
let partCount: u32 = 0;
let typeDepth: u32 = 0;
let codeDepth: u32 = 0;

/** The end of the space for the text, and whether a text did not fit before it. */
let textEnd: usize = 0;
let isOverfull: bool = false;

export function setTextEnd(limit: usize): void {
  textEnd = limit;
  isOverfull = false;
}

/** Returns whether a text did not fit. */
export function isTextOverfull(): bool {
  return isOverfull;
}

/** Returns whether this many bytes and the next values of fixed size fit. */
// @ts-ignore: decorator
@inline
export function fits(out: usize, byteCount: usize): bool {
  if (out + byteCount + VALUE_BYTES_MAX <= textEnd) return true;
  isOverfull = true;
  return false;
}

/** Runs code over data from `from` up to `to`, after `skipped` bytes. */
export function runCode(program: usize, code: usize, from: usize, to: usize, skipped: u32, out: usize): usize {
  if (!openData(from, to, skipped)) return 0;
  decoder = program;
  partCount = 0;
  typeDepth = 0;
  codeDepth = 0;
  return run(code, out);
}

/** Counts an item or a nested value. Returns whether another one may be decoded. */
// @ts-ignore: decorator
@inline
function enter(): bool {
  return ++partCount <= PART_COUNT_MAX;
}

/** The start of the code after a text of the operands. */
// @ts-ignore: decorator
@inline
function afterText(text: usize): usize {
  return text + 4 + ((load<u32>(text) + 3) & ~3);
}

/** Runs code up to its end. */
function run(pc: usize, out: usize): usize {
  if (++codeDepth > CODE_DEPTH_MAX) return 0;
  while (true) {
    if (!fits(out, 0)) return 0;
    const op = load<u32>(pc);
    if (op == OP_END) {
      codeDepth--;
      return out;
    }
    if (op == OP_TEXT) {
      const length = load<u32>(pc, 4);
      if (!fits(out, length)) return 0;
      out = copyText(pc + 8, length, out);
      pc = afterText(pc + 4);
      continue;
    }
    if (op < <u32>OP_SIZED) {
      out = writeSimple(op, pc, out);
      pc += op < <u32>OP_INTEGER || (op >= <u32>OP_KEY) ? 4 : op == OP_INTEGER ? 16 : op == OP_SHORT ? 8 : 12;
    } else if (op == OP_CALL) {
      if (typeDepth >= TYPE_DEPTH_MAX || !enter()) return 0;
      typeDepth++;
      out = run(decoder + load<u32>(pc, 4), out);
      typeDepth--;
      pc += 8;
    } else {
      out = writeNested(op, pc, out);
      pc += load<u32>(pc, 4);
    }
    if (out == 0) return 0;
  }
}

function writeSimple(op: u32, pc: usize, out: usize): usize {
  switch (op) {
    case OP_U8: {
      const from = take(1);
      return from == 0 ? 0 : writeUnsigned(load<u8>(from), out);
    }
    case OP_U16: {
      const from = take(2);
      return from == 0 ? 0 : writeUnsigned(load<u16>(from), out);
    }
    case OP_U32: {
      const from = take(4);
      return from == 0 ? 0 : writeUnsigned(load<u32>(from), out);
    }
    case OP_U64: {
      const from = take(8);
      return from == 0 ? 0 : writeUnsigned(load<u64>(from), out);
    }
    case OP_I8: {
      const from = take(1);
      return from == 0 ? 0 : writeSigned(load<i8>(from), out);
    }
    case OP_I16: {
      const from = take(2);
      return from == 0 ? 0 : writeSigned(load<i16>(from), out);
    }
    case OP_I32: {
      const from = take(4);
      return from == 0 ? 0 : writeSigned(load<i32>(from), out);
    }
    case OP_I64: {
      const from = take(8);
      return from == 0 ? 0 : writeSigned(load<i64>(from), out);
    }
    case OP_INTEGER: {
      const byteCount = load<u32>(pc, 4);
      const from = take(byteCount);
      return from == 0 ? 0 : writeInteger(from, byteCount, load<u32>(pc, 8) != 0, load<u32>(pc, 12) != 0, out);
    }
    case OP_SHORT: {
      const value = readShort(load<u32>(pc, 4));
      return value == FAILED ? 0 : writeUnsigned(value, out);
    }
    case OP_BOOLEAN: {
      const value = readNumber(pc + 4);
      if (value > 1) return 0;
      store<u64>(out, value == 1 ? 0x65757274 : 0x65736c6166);
      return out + (value == 1 ? 4 : 5);
    }
    case OP_KEY: {
      const from = take(32);
      return from == 0 ? 0 : writeKeyBytes(from, out);
    }
    case OP_BYTES: {
      const from = at;
      const length = <u32>(end - from);
      if (!fits(out, <usize>length << 1)) return 0;
      setAt(end);
      return writeHexText(from, length, out);
    }
    case OP_UTF8: {
      const from = at;
      // A control character takes six bytes.
      if (!fits(out, (end - from) * 6)) return 0;
      setAt(end);
      return writeJsonText(from, end, out);
    }
  }
  return 0;
}

function writeNested(op: u32, pc: usize, out: usize): usize {
  switch (op) {
    case OP_SIZED:
      return writeSized(pc, out);
    case OP_TERMINATED:
      return writeTerminated(pc, out);
    case OP_LIST:
      return writeList(pc, out);
    case OP_OPTION: {
      const flag = readNumber(pc + 8);
      if (flag > 1) return 0;
      if (flag == 1) return run(pc + 20, out);
      store<u32>(out, NULL_TEXT);
      // A value of fixed size has its bytes even if it is absent.
      return load<u32>(pc, 16) != 0 && run(pc + 20, out + 4) == 0 ? 0 : out + 4;
    }
    case OP_REMAINDER_OPTION: {
      if (at < end) return run(pc + 8, out);
      store<u32>(out, NULL_TEXT);
      return out + 4;
    }
    case OP_ZEROABLE:
      return writeZeroable(pc, out);
    case OP_ENUM:
      return writeEnum(pc, out);
    case OP_MOVED:
      return writeMoved(pc, out);
    case OP_SILENT:
      return run(pc + 8, out) == 0 ? 0 : out;
  }
  return 0;
}

function writeSized(pc: usize, out: usize): usize {
  const byteCount = readNumber(pc + 8);
  const outerEnd = end;
  const from = at;
  if (byteCount > <u64>(outerEnd - from)) return 0;
  const next = from + <usize>byteCount;
  setEnd(next);
  if (load<u32>(pc, 16) != 0) while (end > from && load<u8>(end - 1) == 0) setEnd(end - 1);
  out = run(pc + 20, out);
  setAt(next);
  setEnd(outerEnd);
  return out;
}

function writeTerminated(pc: usize, out: usize): usize {
  const length = load<u32>(pc, 8);
  const outerEnd = end;
  let found = at;
  for (; ; found++) {
    if (found > outerEnd || length > <u32>(outerEnd - found)) return 0;
    if (memory.compare(found, pc + 12, length) == 0) break;
  }
  setEnd(found);
  out = run(afterText(pc + 8), out);
  setAt(found + length);
  setEnd(outerEnd);
  return out;
}

function writeList(pc: usize, out: usize): usize {
  const isRemainder = load<u32>(pc, 8) == NUMBER_REMAINDER;
  const count = isRemainder ? 0 : readNumber(pc + 8);
  if (count == FAILED) return 0;
  const item = pc + 16;
  store<u8>(out++, 0x5b);
  for (let i: u64 = 0; isRemainder ? at < end : i < count; i++) {
    if (!enter()) return 0;
    if (i > 0) store<u8>(out++, 0x2c);
    out = run(item, out);
    if (out == 0) return 0;
  }
  store<u8>(out, 0x5d);
  return out + 1;
}

function writeZeroable(pc: usize, out: usize): usize {
  const from = at;
  const none = pc + 12;
  const noneLength = load<u32>(pc, 8);
  const after = run(afterText(pc + 8), out);
  if (after == 0) return 0;
  for (let i: u32 = 0; from + i < at; i++) {
    if (load<u8>(from + i) != (i < noneLength ? load<u8>(none + i) : 0)) return after;
  }
  store<u32>(out, NULL_TEXT);
  return out + 4;
}

function writeEnum(pc: usize, out: usize): usize {
  const number = readNumber(pc + 8);
  const table = pc + 20;
  const tableEnd = table + (load<u32>(pc, 16) << 3);
  for (let entry = table; entry < tableEnd; entry += 8) {
    if (load<u32>(entry) == number) return enter() ? run(decoder + load<u32>(entry, 4), out) : 0;
  }
  return 0;
}

function writeMoved(pc: usize, out: usize): usize {
  if (!move(pc + 8, at)) return 0;
  const value = at;
  out = run(pc + 24, out);
  return out != 0 && move(pc + 16, value) ? out : 0;
}
