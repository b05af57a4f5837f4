/** A process that reads a stream like a consumer, and prints its memory usage. */
import { createClient } from '@sluice/client';

export interface ReaderReport {
  readonly blockCount: number;
  readonly recordCount: number;
  readonly megabytes: number;
  readonly seconds: number;
  /** The maximum at the end of a batch, including garbage. */
  readonly heapMegabytesMax: number;
  readonly backlogMax: number;
}

const [url = '', query = '{}'] = process.argv.slice(2);
let [blockCount, recordCount, bytes, heapMax, backlogMax] = [0, 0, 0, 0, 0];
const client = createClient({
  url,
  onEvent: (event) => {
    if (event.kind === 'blocks') bytes += event.bytes;
  },
});
const startMs = performance.now();
for await (const batch of client.stream(JSON.parse(query) as { fromBlock: number })) {
  if (batch.kind === 'rollback') continue;
  blockCount += batch.blocks.length;
  for (const { instructions, tokenBalances } of batch.blocks) {
    recordCount += instructions.length + tokenBalances.length;
  }
  heapMax = Math.max(heapMax, process.memoryUsage().heapUsed);
  backlogMax = Math.max(backlogMax, batch.cursor.blocks.length);
}
const report: ReaderReport = {
  blockCount,
  recordCount,
  megabytes: bytes / 1e6,
  seconds: (performance.now() - startMs) / 1000,
  heapMegabytesMax: heapMax / 1e6,
  backlogMax,
};
process.stdout.write(JSON.stringify(report));
