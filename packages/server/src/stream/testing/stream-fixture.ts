import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { parseQuery } from '../../query/parse-query.ts';
import type { Query } from '../../query/query.ts';
import { DatasetStreams } from '../dataset-streams.ts';
import type { LineStream } from '../line-stream.ts';
import type { OpenedStream } from '../open-stream.ts';
import { STREAM_LIMITS, type StreamLimits } from '../stream-limits.ts';
import { MATCH } from './make-block.ts';
import { ManualClock, settle } from './manual-clock.ts';
import { MemoryDataset } from './memory-dataset.ts';
import { ReferenceEvaluator } from './reference-evaluator.ts';

function matchQuery(body: Record<string, unknown>): Query {
  const query = {
    fields: { block: { number: true, hash: true }, reward: { pubKey: true } },
    rewards: [{ pubkey: [MATCH] }],
    ...body,
  };
  return parseQuery(query, { limits: QUERY_LIMITS, dialects: ['ledger', 'solana'] });
}

/** The streams of a dataset in memory, with a manual clock. */
export class StreamFixture {
  readonly clock = new ManualClock();
  readonly dataset: MemoryDataset;
  readonly streams: DatasetStreams;
  readonly faults: unknown[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(dataset = new MemoryDataset(), limits: Partial<StreamLimits> = {}) {
    this.dataset = dataset;
    const evaluator = new ReferenceEvaluator({ dataset, decodeSegment: dataset.decodeSegment });
    this.streams = new DatasetStreams(
      { ...STREAM_LIMITS, ...limits },
      { dataset, evaluator, clock: this.clock, reportFault: (error) => this.faults.push(error) },
    );
    this.#running = this.streams.run(this.#stop.signal);
  }

  open(
    body: Record<string, unknown>,
    { finalizedOnly = false, signal = new AbortController().signal } = {},
  ): Promise<OpenedStream> {
    return this.streams.open({ query: matchQuery(body), finalizedOnly, signal });
  }

  /** Reads a stream in the background into a list of lines that tests can inspect at any time. */
  async follow(
    body: Record<string, unknown>,
    options: { finalizedOnly?: boolean; signal?: AbortSignal } = {},
  ): Promise<Reading> {
    const opened = await this.open(body, options);
    const reading = new Reading(opened);
    await settle();
    return reading;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

export class Reading {
  readonly kind: OpenedStream['kind'];
  readonly opened: OpenedStream;
  text = '';
  end: string | undefined;

  constructor(opened: OpenedStream) {
    this.kind = opened.kind;
    this.opened = opened;
    if (opened.kind === 'lines') void this.#read(opened.lines);
  }

  /** The slots of the lines so far. The slot of a header-only line is negative. */
  get slots(): number[] {
    return this.text
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const { header, rewards } = JSON.parse(line) as {
          header: { number: number };
          rewards?: [];
        };
        return rewards === undefined ? -header.number : header.number;
      });
  }

  async #read(lines: LineStream): Promise<void> {
    for (;;) {
      const result = await lines.next();
      if (result.done === true) {
        this.end = result.value;
        return;
      }
      this.text += Buffer.concat(result.value.parts).toString();
    }
  }
}
