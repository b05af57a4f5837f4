/**
 * A web server that forwards blocks to browsers as server-sent events, so that browsers do not need the key of the service.
 *
 *   npm install /tmp/sluice-protocol-0.1.0.tgz /tmp/sluice-client-0.1.0.tgz   (docs/guide/README.md says how to pack them)
 *   SLUICE_URL=http://127.0.0.1:8080/datasets/ledger-beta PORT=3000 node browser-relay.js
 *
 * In the page:
 *
 *   const events = new EventSource('http://127.0.0.1:3000/transfers');
 *   events.addEventListener('blocks', ({ data }) => show(JSON.parse(data)));
 *   events.addEventListener('rollback', ({ data }) => removeAbove(JSON.parse(data).number));
 *
 * The id of an event is a short cursor. A browser that lost the connection sends it automatically and continues there, even after a
 * restart of this server or a fork of the ledger.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type CursorState, createClient, isSluiceError, parseCursorState } from '@sluice/client';

const { SLUICE_URL, SLUICE_KEY, PORT = '3000', FROM_BLOCK } = process.env;
/** Each browser needs a stream of the service. */
const readerCountMax = 1_000;
/** A browser that does not read for this long is disconnected. It reconnects by itself. */
const drainMsMax = 30_000;

const client = createClient({
  url: SLUICE_URL ?? 'http://127.0.0.1:8080/datasets/ledger-beta',
  ...(SLUICE_KEY === undefined ? {} : { key: SLUICE_KEY }),
});

/** Transfers of SPL tokens. The service evaluates each block once for all browsers, because their query is the same. */
const query = {
  fields: {
    block: { timestamp: true },
    instruction: { transactionIndex: true, instructionAddress: true, accounts: true, data: true },
  },
  instructions: [
    {
      programId: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      d1: ['0x03', '0x0c'],
      isCommitted: true,
    },
  ],
} as const;

/** The oldest block of a cursor is the one that any fork can be rolled back to; the newest is the one to continue after. */
function encodeId({ blocks }: CursorState): string {
  const ends = blocks.length > 1 ? [blocks[0], blocks.at(-1)] : blocks;
  return Buffer.from(JSON.stringify({ blocks: ends })).toString('base64url');
}

function decodeId(id: string | string[] | undefined): CursorState | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  try {
    return parseCursorState(JSON.parse(Buffer.from(id, 'base64url').toString()));
  } catch {
    return undefined; // Not ours: the browser starts at the head.
  }
}

/** JSON has no bigint. As text, every digit is kept. */
const toJson = (value: unknown) =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part));

async function send(response: ServerResponse, event: string, id: string, data: unknown) {
  if (response.write(`event: ${event}\nid: ${id}\ndata: ${toJson(data)}\n\n`)) return;
  await once(response, 'drain', { signal: AbortSignal.timeout(drainMsMax) });
}

async function relay(response: ServerResponse, cursor: CursorState | undefined): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write('retry: 1000\n\n');
  const start = FROM_BLOCK ?? (await client.head({ signal: gone.signal }))?.number ?? 0;
  const range = { ...query, fromBlock: Number(start) };
  for await (const batch of client.stream(range, { cursor, signal: gone.signal })) {
    const id = encodeId(batch.cursor);
    if (batch.kind === 'rollback') await send(response, 'rollback', id, batch.to);
    else await send(response, 'blocks', id, batch.blocks);
  }
}

let readerCount = 0;
const server = createServer((request, response) => {
  if (request.method !== 'GET' || request.url !== '/transfers') {
    response.writeHead(404).end('see /transfers\n');
  } else if (readerCount >= readerCountMax) {
    response.writeHead(503, { 'retry-after': '5' }).end('too many readers\n');
  } else {
    readerCount++;
    relay(response, decodeId(request.headers['last-event-id']))
      .catch((error: unknown) => {
        // A browser that is too far behind gets the event `reset` and starts again. After any other end it reconnects.
        if (isSluiceError(error, 'no-common-block'))
          response.write('event: reset\nid\ndata: {}\n\n');
      })
      .finally(() => {
        readerCount--;
        response.end();
      });
  }
});
server.listen(Number(PORT), '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`http://127.0.0.1:${(server.address() as { port: number }).port}/transfers\n`);
