import { assert } from './assert.ts';

/** An array or a typed array. */
interface Indexed<Value> {
  at(index: number): Value | undefined;
}

/** Returns the element at an index, which must exist. A negative index counts from the end. */
export function elementAt<Value>(list: Indexed<Value>, index: number): Value {
  const value = list.at(index);
  assert(value !== undefined, 'the list has an element at the index');
  return value;
}
