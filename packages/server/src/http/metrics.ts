/** A small registry in the text form of Prometheus. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly read: () => Iterable<Sample>;
}

export class Counter {
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  /** Those that are known beforehand begin at 0: of a series that begins at 1 nobody sees the rise. */
  constructor(known: readonly Labels[]) {
    for (const labels of known) this.add(labels, 0);
  }

  add(labels: Labels = {}, amount = 1): void {
    const key = Object.values(labels).join('\0');
    const entry = this.#values.get(key);
    if (entry === undefined) this.#values.set(key, { labels, value: amount });
    else entry.value += amount;
  }

  samples(): Iterable<Sample> {
    return this.#values.values();
  }
}

export class Metrics {
  readonly #families: Family[] = [];

  /** The labels' values come from our own tables, never from a client, so their number is bounded. */
  counter(name: string, help: string, known: readonly Labels[]): Counter {
    const counter = new Counter(known);
    this.#families.push({ name, type: 'counter', help, read: () => counter.samples() });
    return counter;
  }

  /** Read when asked for, so that it is the truth of that moment. */
  gauge(name: string, help: string, read: () => Iterable<Sample>): void {
    this.#families.push({ name, type: 'gauge', help, read });
  }

  /** A count that something else keeps. */
  count(name: string, help: string, read: () => Iterable<Sample>): void {
    this.#families.push({ name, type: 'counter', help, read });
  }

  text(): string {
    return this.#families.map(writeFamily).join('');
  }
}

function writeFamily({ name, type, help, read }: Family): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  for (const { labels = {}, value } of read()) lines.push(`${name}${writeLabels(labels)} ${value}`);
  return `${lines.join('\n')}\n`;
}

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join()}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
