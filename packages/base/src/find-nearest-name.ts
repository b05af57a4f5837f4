import { elementAt } from './element-at.ts';

/** Longer input is not compared: no valid name is this long, and the work grows with the product of both lengths. */
const lengthMax = 64;

/**
 * Returns the valid name with the smallest edit distance to the input, or `undefined` if none is close enough to be a
 * likely typo.
 */
export function findNearestName(written: string, names: readonly string[]): string | undefined {
  if (written.length > lengthMax) return undefined;
  const lower = written.toLowerCase();
  let nearest: string | undefined;
  let nearestDistance = Math.max(1, Math.floor(written.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(lower, name.toLowerCase());
    if (distance < nearestDistance) {
      nearest = name;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/**
 * Returns how many characters must be inserted, deleted, replaced or swapped with their neighbour to turn one text into the
 * other (the optimal string alignment distance). It is short enough that a library is not worth a dependency.
 */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (i: number, j: number) => elementAt(elementAt(rows, i), j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) distance = Math.min(distance, at(i - 2, j - 2) + 1);
      row.push(distance);
    }
  }
  return at(a.length, b.length);
}
