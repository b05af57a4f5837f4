// Where the members of an object stand that mean something, by their names. A key that comes twice is not for this kernel.
import { at, moveTo, skipSpace, skipValue, take, takeNull } from './json';
import { MALFORMED, NAME_COUNT, readName } from './names';

const places = memory.data(NAME_COUNT * 4, 4);

// @ts-ignore: decorator
@inline
function placeOf(name: i32): u32 {
  return load<u32>(places + ((<usize>name) << 2));
}

export function forget(first: i32, last: i32): void {
  for (let name = first; name < last; name++) store<u32>(places + ((<usize>name) << 2), 0);
}

/** Notes that the value at the cursor is that of the name; false if it has one already. */
export function notePlace(name: i32): bool {
  skipSpace();
  if (placeOf(name) != 0) return false;
  store<u32>(places + ((<usize>name) << 2), <u32>at);
  return true;
}

/** Notes the places of an object's members and passes over it. */
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

/** Moves the cursor to the value of a name; false if there is none. */
export function goTo(name: i32): bool {
  const place = placeOf(name);
  if (place == 0) return false;
  moveTo(place);
  return true;
}

/** As `goTo`, and null is none. */
export function goToValue(name: i32): bool {
  return goTo(name) && !takeNull();
}
