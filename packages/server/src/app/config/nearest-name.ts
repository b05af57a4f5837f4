/** The name that was probably meant, if one is near enough. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const distanceMax = Math.max(1, Math.floor(wanted.length / 3));
  let nearest: string | undefined;
  let least = distanceMax + 1;
  for (const candidate of names) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

/** How many letters must be added, removed, changed or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] as number;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(at(i - 1, j) + 1, (row[j - 1] as number) + 1, at(i - 1, j - 1) + cost);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, at(i - 2, j - 2) + 1);
      row.push(least);
    }
  }
  return at(a.length, b.length);
}
