// The distinct texts of errors as output JSON, numbered from 1. They are few, and kept across blocks.
import { isSame } from './names';

const textCountMax: u32 = 2048;
const slotCount: u32 = textCountMax * 2;
const stepCountMax: u32 = 64;
const textLengthMax: u32 = 1024;
const poolBytes: u32 = 256 << 10;

let slots: usize = 0;
/** For each number minus 1, the start and length of its text. */
let entries: usize = 0;
let pool: usize = 0;
let poolEnd: usize = 0;
export let errorTextCount: u32 = 0;

export const ERROR_TEXT_BYTES: u32 = slotCount * 4 + textCountMax * 8 + poolBytes + textLengthMax;

export function placeErrorTexts(base: usize): void {
  slots = base;
  entries = slots + slotCount * 4;
  pool = entries + textCountMax * 8;
  poolEnd = pool;
}

/** Clears all texts if the memory is nearly full. */
export function renewErrorTexts(): void {
  const hasSpace = errorTextCount <= textCountMax / 2 && poolEnd - pool <= poolBytes / 2;
  if (hasSpace) return;
  errorTextCount = 0;
  poolEnd = pool;
  memory.fill(slots, 0, slotCount * 4);
}

export function errorTextStart(number: u32): usize {
  return load<u32>(entries + ((number - 1) << 3));
}

export function errorTextLength(number: u32): u32 {
  return load<u32>(entries + ((number - 1) << 3), 4);
}

/** Returns the number of a text, which is quoted if `isQuoted`, or 0 if there is no space for it. */
export function errorTextOf(text: usize, length: u32, isQuoted: bool): u32 {
  if (length > textLengthMax - 2 || poolEnd - pool + length + 2 > poolBytes) return 0;
  // The text is written at its final position, and stays there if it is new.
  let end = poolEnd;
  if (isQuoted) store<u8>(end++, 0x22);
  memory.copy(end, text, length);
  end += length;
  if (isQuoted) store<u8>(end++, 0x22);
  const whole = <u32>(end - poolEnd);
  let slot = hashOf(poolEnd, whole) & (slotCount - 1);
  for (let step: u32 = 0; step < stepCountMax; step++) {
    const found = load<u32>(slots + (slot << 2));
    if (found == 0) return insert(whole, slot);
    if (errorTextLength(found) == whole && isSame(errorTextStart(found), poolEnd, whole)) return found;
    slot = (slot + 1) & (slotCount - 1);
  }
  return 0;
}

function hashOf(text: usize, length: u32): u32 {
  let hash: u32 = 0x811c9dc5;
  for (let i: u32 = 0; i < length; i++) hash = (hash ^ load<u8>(text + i)) * 0x01000193;
  return hash ^ (hash >> 15);
}

function insert(length: u32, slot: u32): u32 {
  if (errorTextCount >= textCountMax) return 0;
  const entry = entries + (errorTextCount << 3);
  store<u32>(entry, <u32>poolEnd);
  store<u32>(entry, length, 4);
  poolEnd += length;
  store<u32>(slots + (slot << 2), ++errorTextCount);
  return errorTextCount;
}
