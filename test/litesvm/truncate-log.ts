const LOG_BYTES_MAX = 10_000;

/** The lines that the runtime keeps: those that fit, also after the first that did not, whose place a mark takes. */
export function truncateLog(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let bytes = 0;
  let marked = false;
  for (const line of lines) {
    const bytesWith = bytes + Buffer.byteLength(line);
    if (bytesWith < LOG_BYTES_MAX) {
      kept.push(line);
      bytes = bytesWith;
    } else if (!marked) {
      kept.push('Log truncated');
      marked = true;
    }
  }
  return kept;
}
