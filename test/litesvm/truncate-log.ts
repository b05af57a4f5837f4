const LOG_BYTES_MAX = 10_000;

/** Returns the lines that the runtime keeps: all that fit, including shorter ones after the first that did not, which a mark replaces. */
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
