/** A thread that serves history and then a moving head: sample lines with ascending slots. */
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

/** Returns how many blocks of history make up the bytes, and how many blocks there are with those at the head. */
export function countBlocks({ tails, historyBytes, headBlocks }: HistoryOptions) {
  const roundBytes = tails.reduce((sum, tail) => sum + tail.length, 0);
  const history = Math.ceil(historyBytes / (roundBytes / tails.length));
  return { history, all: history + headBlocks };
}

async function send(response: ServerResponse, text: string): Promise<void> {
  if (response.write(text)) return;
  await once(response, 'drain').catch(() => undefined);
}

interface StreamRequest {
  readonly fromBlock: number;
  readonly fields?: { readonly block?: { readonly finalizedHead?: boolean } };
}

async function serve(
  response: ServerResponse,
  options: HistoryOptions,
  { fromBlock, fields }: StreamRequest,
): Promise<void> {
  const { history, all } = countBlocks(options);
  response.writeHead(200, {
    'content-type': 'application/jsonl',
    'x-ledger-finalized-head-number': `${history - finalityDistance}`,
    'x-ledger-finalized-head-hash': `h${history - finalityDistance}`,
  });
  for (let slot = fromBlock; slot < all && !response.destroyed; slot++) {
    const isHistory = slot < history;
    const floor = Math.max(0, slot - finalityDistance);
    const finalized = `,"finalizedHead":{"number":${floor},"hash":"h${floor}"}`;
    const added = fields?.block?.finalizedHead === true ? finalized : '';
    const tail = isHistory ? options.tails[slot % options.tails.length] : options.smallTail;
    await send(response, `{"header":{"number":${slot},"hash":"h${slot}"${added}}${tail}`);
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
    await serve(response, options, JSON.parse(body) as StreamRequest);
  });
  server.listen(0, '127.0.0.1', () =>
    parentPort?.postMessage((server.address() as AddressInfo).port),
  );
}
