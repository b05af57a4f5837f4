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
 * Returns the Levenshtein distance: how many characters must be inserted, deleted or replaced to turn one text into the
 * other.
 */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
