import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { isCodedError } from '@sluice/base/errors';
import { memberOf } from '@sluice/protocol/unknown-value';
import { boundConnections, readOpenFilesMax } from '../../app/open-files-limit.ts';
import { getJson } from '../target/get-json.ts';
import type { Finding } from './check.ts';

const probeMsMax = 2_000;
/** The memory that the engine, its cache and the head of a busy ledger need together. */
const memoryBytesMin = 2e9;

export function checkSystem(datasets: number): Finding[] {
  const area = 'system';
  const memory = totalmem();
  const memoryText = `${(memory / 1e9).toFixed(1)} GB of memory, ${availableParallelism()} cores, Node ${process.versions.node}`;
  const remedy = 'this is enough for a small ledger; a busy one needs 2 GB or more';
  return [
    checkFiles(datasets),
    memory >= memoryBytesMin
      ? { area, state: 'ok', text: memoryText }
      : { area, state: 'warning', text: memoryText, remedy },
  ];
}

function checkFiles(datasets: number): Finding {
  const area = 'system';
  const openFilesMax = readOpenFilesMax();
  if (openFilesMax === null) {
    return { area, state: 'ok', text: 'the system reports no limit of open files' };
  }
  const remedy = 'raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker';
  try {
    const threads = availableParallelism();
    const connections = boundConnections(openFilesMax, {
      datasets: Math.max(datasets, 1),
      threads,
      readsStore: false,
    });
    const text = `${openFilesMax} files may be open: ${connections} connections`;
    return connections >= 1_000
      ? { area, state: 'ok', text }
      : { area, state: 'warning', text, remedy };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { area, state: 'wrong', text: `only ${openFilesMax} files may be open`, remedy };
  }
}

export interface Listener {
  readonly what: string;
  readonly host: string;
  readonly port: number;
}

/** Checks whether each address is free, or is already used by a Sluice. */
export async function checkPorts(listeners: readonly Listener[]): Promise<Finding[]> {
  return Promise.all(listeners.filter(({ port }) => port !== 0).map(checkPort));
}

async function checkPort({ what, host, port }: Listener): Promise<Finding> {
  const area = 'ports';
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const reason = await tryListening(host, port);
  if (reason === undefined) return { area, state: 'ok', text: `${address} is free (${what})` };
  if (reason === 'EADDRINUSE' && (await isSluice(`http://${address}`))) {
    const fault = await findFault(`http://${address}/ready`);
    if (fault !== undefined) return { area, state: 'wrong', ...fault };
    const remedy = 'nothing, if that is your service; a second one needs another --port';
    return { area, state: 'warning', text: `a Sluice listens on ${address} already`, remedy };
  }
  const remedy = 'choose another with --port or --host, or stop the process that listens there';
  return {
    area,
    state: 'wrong',
    text: `cannot listen on ${address} (${what}): ${reason}`,
    remedy,
  };
}

/** Returns why the service at an operator address is not ready; undefined if it is ready, or if this is another listener of it. */
async function findFault(
  url: string,
): Promise<{ readonly text: string; readonly remedy: string } | undefined> {
  const body: unknown = await fetch(url, { signal: AbortSignal.timeout(probeMsMax) })
    .then((response) => response.json())
    .catch(() => undefined);
  if (memberOf(body, 'status') !== 'not-ready') return undefined;
  const text = `the running service is not ready: ${String(memberOf(body, 'reason'))}`;
  return { text, remedy: 'sluice status shows its alarms; docs/operating.md explains each' };
}

function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

/** Each listener of a service serves one of these paths. */
async function isSluice(url: string): Promise<boolean> {
  const responses = await Promise.allSettled([
    getJson(`${url}/openapi.json`, { msMax: probeMsMax }),
    getJson(`${url}/health`, { msMax: probeMsMax }),
  ]);
  return responses.some(({ status }) => status === 'fulfilled');
}
