/** A thread with clients that look up unknown signatures, one after another. It is told when to start and to pause. */
import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { encodeBase58 } from '@sluice/base/base58';

export interface ClientsOptions {
  readonly port: number;
  readonly dataset: string;
  readonly clientCount: number;
}

/** What the clients received since they were started. */
export interface ClientsReport {
  readonly latenciesMs: readonly number[];
  readonly refusedCount: number;
  /** Responses that were neither 404 nor 503, which would be wrong. */
  readonly wrongStatuses: readonly number[];
}

assert(parentPort !== null, 'the clients run in a thread');
const port = parentPort;
const { port: servicePort, dataset, clientCount } = workerData as ClientsOptions;
const agent = new Agent({ keepAlive: true, maxSockets: clientCount });

interface Reply {
  readonly status: number;
  readonly retryAfterSeconds: number;
}

/** Each client has its own address, because the service limits the lookups of an address. */
function lookUp(client: number): Promise<Reply> {
  const localAddress = `127.0.1.${1 + (client % 250)}`;
  const path = `/datasets/${dataset}/transactions/${encodeBase58(randomBytes(64))}`;
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: servicePort, path, agent, localAddress }, (response) => {
      const { statusCode: status = 0, headers } = response;
      const retryAfterSeconds = Number(headers['retry-after'] ?? 0);
      response.resume().once('end', () => resolve({ status, retryAfterSeconds }));
    }).once('error', reject);
  });
}

async function runClient(
  client: number,
  report: MutableReport,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const startMs = performance.now();
    const { status, retryAfterSeconds } = await lookUp(client);
    if (status === 404) report.latenciesMs.push(performance.now() - startMs);
    else if (status === 503) report.refusedCount++;
    else report.wrongStatuses.push(status);
    if (retryAfterSeconds > 0) await sleep(retryAfterSeconds * 1000);
  }
}

interface MutableReport extends ClientsReport {
  readonly latenciesMs: number[];
  refusedCount: number;
  readonly wrongStatuses: number[];
}

let running: { stop: () => void; done: Promise<ClientsReport> } | undefined;

function start(): void {
  const stopped = new AbortController();
  const report: MutableReport = { latenciesMs: [], refusedCount: 0, wrongStatuses: [] };
  const clients = Array.from({ length: clientCount }, (_, client) =>
    runClient(client, report, stopped.signal),
  );
  const done = Promise.all(clients).then(() => report);
  running = { stop: () => stopped.abort(), done };
}

port.on('message', async (message: 'start' | 'pause') => {
  if (message === 'start') return start();
  running?.stop();
  port.postMessage(await running?.done);
});
