/** A worker thread that reads large replies, so that they do not delay the streams on the main thread. */
import { parentPort } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { SharedBufferPool } from '@sluice/base/memory/shared-buffer-pool';
import type { FromFetchThread, ToFetchThread } from './fetch-thread.ts';
import { HttpPoster } from './http-poster.ts';

const port = parentPort;
assert(port !== null, 'the fetch worker runs in a worker thread');

const posters = new Map<string, HttpPoster>();
const openRequests = new Map<number, AbortController>();

/** There are more buffers than open requests. Nearly all replies fit into the smallest size, so that buffers are reused. */
const buffers = new SharedBufferPool({
  countMax: 24,
  bytesMax: 128 << 20,
  granuleBytes: 8 << 20,
  unusedTakeCountMax: 16,
});
/** A smaller reply is not worth a message that returns its buffer. */
const sharedBytesMin = 1 << 18;

function allocate(length: number): Uint8Array {
  const shared = length < sharedBytesMin ? undefined : buffers.take(length);
  return shared ?? Buffer.allocUnsafeSlow(length);
}

port.on('message', (message: ToFetchThread) => {
  if (message.kind === 'cancel') openRequests.get(message.id)?.abort('the call is over');
  else if (message.kind === 'spare') buffers.release(message.buffer);
  else void fetchReply(message);
});

async function fetchReply({ id, server, request }: ToFetchThread & { kind: 'post' }) {
  const key = JSON.stringify(server);
  let poster = posters.get(key);
  if (poster === undefined) {
    poster = new HttpPoster(server, { allocate });
    posters.set(key, poster);
  }
  const controller = new AbortController();
  openRequests.set(id, controller);
  const result = await poster.post(request, controller.signal);
  openRequests.delete(id);
  const buffer = result.kind === 'ok' ? result.value.bytes.buffer : undefined;
  const moved = buffer instanceof ArrayBuffer ? [buffer] : [];
  port?.postMessage({ id, result } satisfies FromFetchThread, moved);
}
