import { assert } from './assert.ts';

/** An array or a typed array. */
interface Indexed<Value> {
  readonly length: number;
  readonly [index: number]: Value;
}

/** Returns the element at an index, which must exist. A negative index counts from the end. */
export function elementAt<Value>(list: Indexed<Value>, index: number): Value {
  // The method `at` is not used, because looking it up on lists of many types takes longer than the access itself.
  const value = list[index < 0 ? list.length + index : index];
  assert(value !== undefined, 'the list has an element at the index');
  return value;
}
