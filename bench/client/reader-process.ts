/** A process that reads a stream like a consumer, and prints its memory usage. */
import { type BlocksBatch, createClient } from '@sluice/client';

/** What was read in one part of the stream. */
export interface PartReport {
  readonly blockCount: number;
  readonly recordCount: number;
  readonly megabytes: number;
  readonly seconds: number;
  /** The largest heap at the end of a batch, garbage included. */
  readonly heapMegabytesMax: number;
  readonly backlogMax: number;
}

export interface ReaderReport {
  readonly history: PartReport;
  readonly head: PartReport;
}

class Part {
  readonly #startMs = performance.now();
  #blockCount = 0;
  #recordCount = 0;
  #heapMax = 0;
  #backlogMax = 0;
  bytes = 0;

  take({ blocks, cursor }: BlocksBatch): void {
    this.#blockCount += blocks.length;
    for (const { instructions, tokenBalances } of blocks) {
      this.#recordCount += instructions.length + tokenBalances.length;
    }
    this.#heapMax = Math.max(this.#heapMax, process.memoryUsage().heapUsed);
    this.#backlogMax = Math.max(this.#backlogMax, cursor.blocks.length);
  }

  report(): PartReport {
    return {
      blockCount: this.#blockCount,
      recordCount: this.#recordCount,
      megabytes: this.bytes / 1e6,
      seconds: (performance.now() - this.#startMs) / 1000,
      heapMegabytesMax: this.#heapMax / 1e6,
      backlogMax: this.#backlogMax,
    };
  }
}

const [url = '', query = '{}', historyCount = '0'] = process.argv.slice(2);
let part = new Part();
let history: PartReport | undefined;
const client = createClient({
  url,
  onEvent: (event) => {
    if (event.kind === 'blocks') part.bytes += event.bytes;
  },
});
for await (const batch of client.stream(JSON.parse(query) as { fromBlock: number })) {
  if (batch.kind === 'rollback') continue;
  part.take(batch);
  const isHistoryRead = (batch.cursor.blocks.at(-1)?.number ?? 0) + 1 >= Number(historyCount);
  if (!isHistoryRead || history !== undefined) continue;
  history = part.report();
  part = new Part();
}
const head = part.report();
process.stdout.write(JSON.stringify({ history: history ?? head, head } satisfies ReaderReport));
