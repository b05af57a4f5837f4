import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { countBlocks, type HistoryOptions } from './history-server.ts';
import type { ReaderReport } from './reader-process.ts';

/**
 * Limits of the reader's heap in MiB. A reader that needs more runs out of memory and fails the benchmark. Both parts of
 * the new space can be full, so the heap has at most 64 + 2 × 8 MiB, garbage included.
 */
const oldSpaceMebibytes = 64;
const semiSpaceMebibytes = 8;

/** Reads history and then the head from a server in another thread, in a separate process. */
export async function measureMemory(
  options: HistoryOptions,
  query: Readonly<Record<string, unknown>>,
): Promise<ReaderReport> {
  const server = new Worker(new URL('./history-server.js', import.meta.url), {
    workerData: options,
  });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      server.once('message', resolve).once('error', reject);
    });
    const url = `http://127.0.0.1:${port}/datasets/bench`;
    const { history, all } = countBlocks(options);
    const body = JSON.stringify({ ...query, toBlock: all - 1 });
    const reader = fileURLToPath(new URL('./reader-process.js', import.meta.url));
    const args = [
      `--max-old-space-size=${oldSpaceMebibytes}`,
      `--max-semi-space-size=${semiSpaceMebibytes}`,
      ...[reader, url, body, `${history}`],
    ];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 20 });
    return JSON.parse(stdout) as ReaderReport;
  } finally {
    await server.terminate();
  }
}
