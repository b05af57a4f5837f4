/** Common parts of the reports of benchmarks: tables, numbers, and a description of the machine. */
import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';

type Rows = readonly (readonly string[])[];

export interface TableStyle {
  /** How many of the last columns contain text and are left-aligned, like the first column. */
  readonly leftAtEnd?: number;
}

/** Returns the rows as lines with columns of equal width. */
export function alignTable(rows: Rows, { leftAtEnd = 0 }: TableStyle = {}): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => (row[at] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((text, at) => {
        const width = widths[at] ?? 0;
        const isLeft = at === 0 || at >= row.length - leftAtEnd;
        return isLeft ? text.padEnd(width) : text.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Returns the rows as a Markdown table, with the first row as its head. */
export function markdownTable(rows: Rows, { leftAtEnd = 0 }: TableStyle = {}): string {
  const columns = rows[0] ?? [];
  const [head = '', ...body] = rows.map((row) => `| ${row.join(' | ')} |`);
  const rule = columns.map((_, at) =>
    at === 0 || at >= columns.length - leftAtEnd ? '---|' : '---:|',
  );
  return [head, `|${rule.join('')}`, ...body].join('\n');
}

export function describeMachine(): string {
  const [processor] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${processor?.model ?? 'unknown'}, ${cpus().length} cores, ${memory} GiB, ${process.platform} ${release()} ${process.arch}, Node ${process.version}`;
}

/** Returns the measured commit, and whether files differ from it. */
export function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
    const isDirty = git('status', '--porcelain') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isDirty ? ' with changes' : '');
  } catch {
    return 'unknown';
  }
}

/** Returns a number with three digits, or all digits before the decimal point. */
export function digits(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toPrecision(value >= 10 ? 3 : 2);
}

export function megabytes(bytes: number, unit = 1e6): string {
  const value = bytes / unit;
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}
