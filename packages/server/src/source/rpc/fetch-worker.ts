/** A thread that reads large replies: on the thread of all streams their bytes would cost every reader time. */
import { parentPort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { SharedBufferPool } from '../../base/shared-buffer-pool.ts';
import type { FromFetchThread, ToFetchThread } from './fetch-thread.ts';
import { HttpPoster } from './http-poster.ts';

const port = parentPort;
assert(port !== null, 'replies are fetched in a thread of its own');

const posters = new Map<string, HttpPoster>();
const underWay = new Map<number, AbortController>();

/** As many as replies are under way, and some. One length fits nearly all: at the head it is always the same room. */
const rooms = new SharedBufferPool({
  countMax: 24,
  bytesMax: 128 << 20,
  granuleBytes: 8 << 20,
  unusedTakeCountMax: 16,
});
/** Below this a room is not worth the way back. */
const sharedBytesMin = 1 << 18;

function allocate(length: number): Uint8Array {
  const room = length < sharedBytesMin ? undefined : rooms.take(length);
  return room ?? Buffer.allocUnsafeSlow(length);
}

port.on('message', (message: ToFetchThread) => {
  if (message.kind === 'cancel') underWay.get(message.id)?.abort('the call is over');
  else if (message.kind === 'spare') rooms.release(message.buffer);
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
  underWay.set(id, controller);
  const answer = await poster.post(request, controller.signal);
  underWay.delete(id);
  const buffer = answer.kind === 'ok' ? answer.value.bytes.buffer : undefined;
  const moved = buffer instanceof ArrayBuffer ? [buffer] : [];
  port?.postMessage({ id, answer } satisfies FromFetchThread, moved);
}
