import { assert } from './assert.ts';

/** Returns the value of a key, which the map must have. */
export function valueOfKey<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = map.get(key);
  assert(value !== undefined, 'the map has the key');
  return value;
}
