/** Operations on ascending lists of numbers without duplicates, such as the transactions that mention an address. */

import { elementAt } from '@sluice/base/element-at';

export function intersect(a: Uint32Array, b: Uint32Array): Uint32Array {
  const common = new Uint32Array(a.length);
  let [i, j, count] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const difference = (a[i] as number) - (b[j] as number);
    if (difference === 0) common[count++] = a[i] as number;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return common.subarray(0, count);
}

/** Returns the numbers that any of the lists has. May return one of the lists itself. */
export function unite(lists: readonly Uint32Array[]): Uint32Array {
  if (lists.length === 1) return elementAt(lists, 0);
  let end = 0;
  for (const list of lists) end = Math.max(end, (list.at(-1) ?? -1) + 1);
  // One bit per possible number: numbers are below the transaction count of a segment, and setting bits is much faster than sorting.
  const bits = new Uint32Array((end + 31) >>> 5);
  let most = 0;
  for (const list of lists) {
    most += list.length;
    for (let i = 0; i < list.length; i++) {
      const value = list[i] as number;
      bits[value >>> 5] = (bits[value >>> 5] as number) | (1 << (value & 31));
    }
  }
  return numbersOf(bits, Math.min(most, end));
}

/** Returns the positions of the set bits, ascending. There are at most `countMax` of them. */
function numbersOf(bits: Uint32Array, countMax: number): Uint32Array {
  const numbers = new Uint32Array(countMax);
  let count = 0;
  for (let word = 0; word < bits.length; word++) {
    for (let rest = bits[word] as number; rest !== 0; rest &= rest - 1)
      numbers[count++] = word * 32 + 31 - Math.clz32(rest & -rest);
  }
  return numbers.subarray(0, count);
}

/** Returns the range of a list whose numbers are in [start, end), as positions in the list. */
export function sliceOf(list: Uint32Array, start: number, end: number): [from: number, to: number] {
  return [lowerBound(list, start), lowerBound(list, end)];
}

/** Returns how many numbers of a list are smaller. The list may have duplicates. */
export function lowerBound(list: Uint32Array, value: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
