/** The metrics of the service, in a registry of their own: tests run several services in one process. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  /** Label values come from our own tables, never from a client, so their number is bounded. */
  readonly labels?: readonly string[];
}

export class Metrics {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** A counter whose known label values start at 0, because a series that starts at 1 shows no increase. */
  counter({ labels = [], ...about }: MetricOptions, known: readonly Labels[] = []): Counter {
    const counter = new Counter({ ...about, labelNames: labels, registers: [this.#registry] });
    for (const values of known) counter.inc({ ...values }, 0);
    return counter;
  }

  /** A value that is read when metrics are requested. */
  gauge({ labels = [], ...about }: MetricOptions, read: () => Iterable<Sample>): void {
    const gauge: Gauge = new Gauge({
      ...about,
      labelNames: labels,
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const { labels: values = {}, value } of read()) gauge.set({ ...values }, value);
      },
    });
  }

  /** A count that another component keeps, read when metrics are requested. */
  count({ labels = [], ...about }: MetricOptions, read: () => Iterable<Sample>): void {
    const counter: Counter = new Counter({
      ...about,
      labelNames: labels,
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        for (const { labels: values = {}, value } of read()) counter.inc({ ...values }, value);
      },
    });
  }

  histogram({ labels = [], ...about }: MetricOptions, buckets: readonly number[]): Histogram {
    return new Histogram({
      ...about,
      labelNames: labels,
      buckets: [...buckets],
      registers: [this.#registry],
    });
  }

  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
