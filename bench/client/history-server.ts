/** A thread that serves endless history, then a growing head: sample lines with ascending slots. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

export interface HistoryOptions {
  /** The text after the header of a line, starting with a comma. */
  readonly tails: readonly string[];
  /** The text of a block at the head. */
  readonly smallTail: string;
  readonly historyBytes: number;
  readonly headBlocks: number;
}

const finalityDistance = 32;

/** The last slot depends on the bytes, so it is reported in advance, and both runs have as many lines as they need. */
export function countBlocks({ tails, historyBytes, headBlocks }: HistoryOptions) {
  const roundBytes = tails.reduce((sum, tail) => sum + tail.length, 0);
  const history = Math.ceil(historyBytes / (roundBytes / tails.length));
  return { history, all: history + headBlocks };
}

async function send(response: ServerResponse, text: string): Promise<void> {
  if (response.write(text)) return;
  await once(response, 'drain').catch(() => undefined);
}

async function serve(
  response: ServerResponse,
  options: HistoryOptions,
  first: number,
): Promise<void> {
  const { history, all } = countBlocks(options);
  response.writeHead(200, { 'content-type': 'application/jsonl' });
  for (let slot = first; slot < all && !response.destroyed; slot++) {
    const isHistory = slot < history;
    const floor = Math.max(0, slot - finalityDistance);
    const finalized = `"finalizedHead":{"number":${floor},"hash":"h${floor}"}`;
    const tail = isHistory ? options.tails[slot % options.tails.length] : options.smallTail;
    await send(response, `{"header":{"number":${slot},"hash":"h${slot}",${finalized}}${tail}`);
    // At the head each block is sent separately.
    if (!isHistory) await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

if (parentPort !== null) {
  const options = workerData as HistoryOptions;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    await serve(response, options, (JSON.parse(body) as { fromBlock: number }).fromBlock);
  });
  server.listen(0, '127.0.0.1', () =>
    parentPort?.postMessage((server.address() as AddressInfo).port),
  );
}
