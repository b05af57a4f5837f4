/** An HTTP proxy between a client and an object store that injects faults into responses. */
import { createServer, type Server, request as send } from 'node:http';

export type Fault =
  | 'none'
  | 'slow'
  | 'failing'
  | 'throttling'
  | 'truncated'
  | 'wrong'
  | 'cut'
  | 'lost'
  | 'unconditional';

export interface FaultProxy {
  readonly url: string;
  fault: Fault;
  /** The share of requests with the fault. */
  share: number;
  /** The maximum number of requests with the fault. */
  limit: number;
  /** Only requests whose path contains this text. */
  match: string;
  /** The delay of every response. */
  delayMs: number;
  requests: number;
  /** The bytes of the bodies of responses. */
  bodyBytes: number;
  /** The bytes of the bodies of requests that were forwarded. */
  sentBytes: number;
  /** How many requests were in progress at the same time, on average over the time in which at least one was. */
  readonly concurrency: number;
  /** Begins to count requests, bytes and concurrency again. No request may be in progress. */
  restartCount(): void;
  stop(): Promise<void>;
}

const slowMs = 1_000;

/** Measures how many requests are in progress at the same time. */
class ConcurrencyMeter {
  #running = 0;
  #busySinceMs = 0;
  #busyMs = 0;
  #requestMs = 0;

  get mean(): number {
    return this.#busyMs === 0 ? 0 : this.#requestMs / this.#busyMs;
  }

  /** Returns a function to be called when the request has ended. */
  begin(): () => void {
    const startMs = performance.now();
    if (this.#running++ === 0) this.#busySinceMs = startMs;
    return () => {
      const nowMs = performance.now();
      this.#requestMs += nowMs - startMs;
      if (--this.#running === 0) this.#busyMs += nowMs - this.#busySinceMs;
    };
  }
}

/** Changes one byte in each KiB, so that no reader of a part of the body can miss all of them. */
function damage(body: Buffer, random: () => number): void {
  for (let start = 0; start < body.length; start += 1_024) {
    const at = start + Math.floor(random() * Math.min(1_024, body.length - start));
    body.writeUInt8(body.readUInt8(at) ^ 0x5a, at);
  }
}

export async function startFaultProxy(targetPort: number, seed = 1): Promise<FaultProxy> {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let meter = new ConcurrencyMeter();
  const server: Server = createServer((incoming, outgoing) => {
    outgoing.once('close', meter.begin());
    const isHit = (incoming.url ?? '').includes(proxy.match) && random() < proxy.share;
    const fault = isHit && proxy.limit-- > 0 ? proxy.fault : 'none';
    proxy.requests++;
    if (fault === 'cut') return void incoming.socket.destroy();
    if (fault === 'failing' || fault === 'throttling') {
      incoming.resume();
      const code = fault === 'failing' ? 'InternalError' : 'SlowDown';
      outgoing.writeHead(fault === 'failing' ? 500 : 503, { 'content-type': 'application/xml' });
      return void outgoing.end(`<Error><Code>${code}</Code></Error>`);
    }
    // A store without conditional writes accepts all of them.
    if (fault === 'unconditional' && incoming.headers['if-none-match'] !== undefined) {
      incoming.resume();
      return void outgoing.writeHead(200).end();
    }
    const forwarded = send(
      {
        port: targetPort,
        host: '127.0.0.1',
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const body = Buffer.concat(chunks);
          proxy.bodyBytes += body.length;
          if (fault === 'lost') return void outgoing.destroy();
          const deliver = () => {
            outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
            if (fault === 'truncated' && body.length > 1) {
              outgoing.write(body.subarray(0, body.length >> 1));
              return void setTimeout(() => outgoing.destroy(), 10);
            }
            if (fault === 'wrong' && incoming.method === 'GET') damage(body, random);
            return void outgoing.end(body);
          };
          const delayMs = proxy.delayMs + (fault === 'slow' ? slowMs : 0);
          if (delayMs > 0) setTimeout(deliver, delayMs);
          else deliver();
          return undefined;
        });
      },
    );
    forwarded.on('error', () => outgoing.destroy());
    incoming.on('data', (chunk: Buffer) => {
      proxy.sentBytes += chunk.length;
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}`,
    fault: 'none',
    share: 1,
    limit: Number.POSITIVE_INFINITY,
    match: '',
    delayMs: 0,
    requests: 0,
    bodyBytes: 0,
    sentBytes: 0,
    get concurrency() {
      return meter.mean;
    },
    restartCount: () => {
      Object.assign(proxy, { requests: 0, bodyBytes: 0, sentBytes: 0 });
      meter = new ConcurrencyMeter();
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
