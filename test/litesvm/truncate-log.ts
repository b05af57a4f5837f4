const LOG_BYTES_MAX = 10_000;

/**
 * Returns the log as the runtime truncates it: a line that does not fit is dropped, and later lines are kept if they still fit. The
 * first dropped line is replaced by "Log truncated".
 */
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
