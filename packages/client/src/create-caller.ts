/** Short calls: one request, one small answer, and a few retries. */
import type { ParsedOptions } from './client-options.ts';
import { type AttemptModules, Attempts, type Endpoints } from './endpoints.ts';
import type { HttpClient, OpenResponse } from './http-client.ts';
import { SluiceError } from './sluice-error.ts';

/** What a client is made of. */
export interface ClientParts {
  readonly parsed: ParsedOptions;
  readonly http: HttpClient;
  readonly endpoints: Endpoints;
  readonly attemptModules: AttemptModules;
}

export interface CallRequest {
  /** After the base URL. */
  readonly path: string;
  /** JSON; its presence makes the request a POST. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export type ReadAnswer<Value> = (opened: OpenResponse, signal: AbortSignal) => Promise<Value>;

/** Sends a request until it is answered with 200, and reads the answer. */
export type Call = <Value>(request: CallRequest, read: ReadAnswer<Value>) => Promise<Value>;

export interface Caller {
  readonly call: Call;
  readonly get: (path: string, signal?: AbortSignal) => Promise<unknown>;
}

/** A short call is for a person or a program that waits for it, so it gives up earlier than a stream. */
const callAttemptsMax = 5;

export function createCaller({ parsed, http, endpoints, attemptModules }: ClientParts): Caller {
  const call: Call = async ({ path, body, signal = new AbortController().signal }, read) => {
    const attemptsMax = Math.min(callAttemptsMax, parsed.retry.attemptsMax);
    const attempts = new Attempts({ ...parsed.retry, attemptsMax }, attemptModules);
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
