import { assert } from './assert.ts';

/** Returns the element at an index, which must exist. A negative index counts from the end. */
export function elementAt<Value>(list: readonly Value[], index: number): Value {
  const value = list.at(index);
  assert(value !== undefined, 'the list has an element at the index');
  return value;
}
