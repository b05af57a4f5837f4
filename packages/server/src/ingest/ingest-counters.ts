import type { NormalizeCounts } from '@sluice/source/normalize/normalize-counts';

/** Counts what ingestion has stored and rejected since the start, for metrics and `/status`. */
export class IngestCounters {
  readonly #totals = new Map<string, number>();

  countBlock(counts: NormalizeCounts): void {
    this.#add('blocks', 1);
    for (const [name, value] of Object.entries(counts)) {
      if (typeof value === 'number') this.#add(name, value);
      else
        for (const [kind, count] of Object.entries<number>(value))
          this.#add(`${name}.${kind}`, count);
    }
  }

  countRefused(code: string): void {
    this.#add(`refused.${code}`, 1);
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#totals);
  }

  #add(name: string, value: number): void {
    this.#totals.set(name, (this.#totals.get(name) ?? 0) + value);
  }
}
