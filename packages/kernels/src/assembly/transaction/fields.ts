// The positions of the members of an object that the kernel reads, by name. An object with a duplicate key is left to `JSON.parse`.
import { at, moveTo, skipSpace, skipValue, take, takeNull } from '../common/json';
import { MALFORMED, NAME_COUNT, readName } from './names';

const positions = memory.data(NAME_COUNT * 4, 4);

// @ts-ignore: decorator
@inline
function placeOf(name: i32): u32 {
  return load<u32>(positions + ((<usize>name) << 2));
}

export function forget(first: i32, last: i32): void {
  for (let name = first; name < last; name++) store<u32>(positions + ((<usize>name) << 2), 0);
}

/** Records the value at the cursor under the name. Returns false if the name has one already. */
export function notePlace(name: i32): bool {
  skipSpace();
  if (placeOf(name) != 0) return false;
  store<u32>(positions + ((<usize>name) << 2), <u32>at);
  return true;
}

/** Records the positions of an object's members and skips the object. */
export function noteMembers(first: i32, last: i32): bool {
  forget(first, last);
  if (!take(0x7b)) return false;
  if (take(0x7d)) return true;
  let before = first - 1;
  do {
    const name = readName(first, last, before);
    if (name == MALFORMED) return false;
    if (name >= 0) {
      if (!notePlace(name)) return false;
      before = name;
    }
    if (!skipValue()) return false;
  } while (take(0x2c));
  return take(0x7d);
}

/** Moves the cursor to the value of a key. Returns false when the object lacks the key. */
export function goTo(name: i32): bool {
  const position = placeOf(name);
  if (position == 0) return false;
  moveTo(position);
  return true;
}

/** Like `goTo`, but returns false for null. */
export function goToValue(name: i32): bool {
  return goTo(name) && !takeNull();
}
