/**
 * Formats rows as columns, two spaces apart, with numbers aligned to the right and texts to the left. The first row is the heading.
 * The first column always contains texts.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const columnCount = Math.max(0, ...rows.map((row) => row.length));
  const columns = Array.from({ length: columnCount }, (_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    const isNumeric =
      column > 0 && cells.slice(1).every((cell) => /^[\d,.]*[ %x]*$|^-$/.test(cell));
    return { width: Math.max(...cells.map((cell) => cell.length)), isNumeric };
  });
  const lines = rows.map((row) =>
    columns
      .map(({ width, isNumeric }, column) => {
        const cell = row[column] ?? '';
        return isNumeric ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join('');
}

export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}
