import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';

export interface GetOptions {
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly msMax?: number;
  /** Default: GET. */
  readonly method?: 'PUT' | 'DELETE';
  readonly body?: Uint8Array<ArrayBuffer>;
}

const msMaxDefault = 10_000;

/** Returns the JSON response of a service. Errors and timeouts are thrown as coded errors. */
export async function getJson<Body>(url: string, options: GetOptions = {}): Promise<Body> {
  const { status, body } = await get(url, options);
  if (status === 200) {
    try {
      return JSON.parse(body) as Body;
    } catch (error) {
      throw foreign(url, error);
    }
  }
  throw refused(url, status, body);
}

function foreign(url: string, cause: unknown): CodedError {
  return new CodedError('service-foreign', { url }, { cause });
}

async function get(
  url: string,
  { key, signal, msMax = msMaxDefault, method, body }: GetOptions,
): Promise<{ readonly status: number; readonly body: string }> {
  const timeout = AbortSignal.timeout(msMax);
  try {
    const response = await fetch(url, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    throw unreachable(url, error, signal);
  }
}

export function unreachable(
  url: string,
  cause: unknown,
  signal: AbortSignal | undefined,
): CodedError {
  if (signal?.aborted === true) return new CodedError('query-interrupted', {}, { cause });
  return new CodedError('service-unreachable', { url, reason: reasonOf(cause) }, { cause });
}

function reasonOf(error: unknown): string {
  if (memberOf(error, 'name') === 'TimeoutError') return 'the request timed out';
  const cause = memberOf(error, 'cause');
  return systemErrorCode(cause) ?? messageOf(cause ?? error);
}

/** Returns the error of a response that refuses a request, with the code and the message of its body. */
export function refused(url: string, status: number, body: string): CodedError {
  let error: { readonly code?: string; readonly message?: string } | undefined;
  try {
    error = JSON.parse(body).error;
  } catch {
    // A response of a proxy is not JSON.
  }
  const { code, message } = error ?? {};
  if (code === 'dataset-unknown') return new CodedError('cli-dataset-missing', { url });
  // A key does not help a request from another machine.
  const needsKey = (status === 401 || status === 403) && code !== 'operator-not-local';
  return new CodedError(needsKey ? 'service-key-refused' : 'service-refused', {
    ...{ url, status },
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
  });
}
