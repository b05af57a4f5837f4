/** Short calls: one request with a small response, and a few retries. */

import { SluiceError } from './base/sluice-error.ts';
import type { ParsedOptions } from './client-options.ts';
import { type AttemptDependencies, Attempts, type Endpoints } from './http/endpoints.ts';
import type { HttpClient, OpenResponse } from './http/http-client.ts';

/** The parts of a client. */
export interface ClientParts {
  readonly parsed: ParsedOptions;
  readonly http: HttpClient;
  readonly endpoints: Endpoints;
  readonly attemptDependencies: AttemptDependencies;
}

export interface CallRequest {
  /** The path after the base URL. */
  readonly path: string;
  /** A JSON body. A request with a body is a POST. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export type ReadBody<Value> = (opened: OpenResponse, signal: AbortSignal) => Promise<Value>;

/** Sends a request until the status is 200, and parses the response. */
export type Call = <Value>(request: CallRequest, read: ReadBody<Value>) => Promise<Value>;

export interface Caller {
  readonly call: Call;
  readonly get: (path: string, signal?: AbortSignal) => Promise<unknown>;
}

/** Somebody waits for the result of a short call, so it is retried fewer times than a stream. */
const callAttemptsMax = 5;

export function createCaller({
  parsed,
  http,
  endpoints,
  attemptDependencies,
}: ClientParts): Caller {
  const call: Call = async ({ path, body, signal = new AbortController().signal }, read) => {
    const attemptsMax = Math.min(callAttemptsMax, parsed.retry.attemptsMax);
    const attempts = new Attempts({ ...parsed.retry, attemptsMax }, attemptDependencies);
    for (;;) {
      const url = endpoints.current;
      try {
        const request = { url: `${url}${path}`, signal };
        const opened = await http.open(body === undefined ? request : { ...request, body });
        if (opened.response.status !== 200) throw await http.refuse(opened, signal);
        return await read(opened, signal);
      } catch (error) {
        await attempts.failed(url, error, signal);
      }
    }
  };
  const get = (path: string, signal?: AbortSignal) =>
    call({ path, signal }, (opened, stop) => readJson(http, opened, stop));
  return { call, get };
}

async function readJson(
  http: HttpClient,
  opened: OpenResponse,
  signal: AbortSignal,
): Promise<unknown> {
  const text = await http.readText(opened, signal);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { url } = opened.response;
    throw new SluiceError('response-malformed', { detail: `${url} is not JSON`, cause });
  }
}
