/** Converts the status and the body of a response to an error. */
import { memberOf } from '@sluice/protocol/unknown-value';
import type { Clock } from '../base/clock.ts';
import { type ClientErrorCode, type ServiceReply, SluiceError } from '../base/sluice-error.ts';
import { parseRetryAfter } from './retry-wait.ts';

/** Returns the error for a response whose status is not one of the expected ones. */
export function buildReplyError(response: Response, text: string, clock: Clock): SluiceError {
  const reply = readReply(response, text);
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock);
  return new SluiceError(codeOf(response, reply), {
    detail: describe(reply),
    reply,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** The codes of a service that has the address but not the block, transaction or time. */
const lookupCodes: ReadonlySet<string> = new Set([
  'slot-skipped',
  'slot-above-head',
  'slot-below-start',
  'transaction-unknown',
  'program-unknown',
  'time-not-reached',
]);

function codeOf(response: Response, { status, code }: ServiceReply): ClientErrorCode {
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) return 'redirected';
  if (status === 400) return code === 'range-unavailable' ? code : 'query-invalid';
  if (status === 401 || status === 403) return 'key-refused';
  if (status === 404) return lookupCodes.has(code ?? '') ? 'not-stored' : 'not-found';
  if (status === 408 || status === 502 || status === 503 || status === 504)
    return 'service-unavailable';
  if (status === 429) return 'over-limit';
  if (status >= 500) return 'service-failed';
  return status >= 400 ? 'request-refused' : 'response-malformed';
}

function readReply(response: Response, text: string): ServiceReply {
  const { code, message, path } = readErrorBody(text);
  const requestId = response.headers.get('x-request-id');
  return {
    status: response.status,
    ...(code === undefined ? {} : { code }),
    message: message ?? text.trim().slice(0, 300),
    ...(path === undefined ? {} : { path }),
    ...(requestId === null ? {} : { requestId }),
  };
}

function readErrorBody(text: string): { code?: string; message?: string; path?: string } {
  try {
    const error = memberOf(JSON.parse(text), 'error');
    const read = (name: string) => {
      const value = memberOf(error, name);
      return typeof value === 'string' ? { [name]: value } : {};
    };
    return { ...read('code'), ...read('message'), ...read('path') };
  } catch {
    // A proxy or another service may respond with plain text or HTML.
    return {};
  }
}

function describe({ status, message, path, requestId }: ServiceReply): string {
  const parts = [`HTTP ${status}`];
  if (path !== undefined) parts.push(path);
  if (message !== undefined && message !== '') parts.push(message);
  if (requestId !== undefined) parts.push(`request ${requestId}`);
  return parts.join(', ');
}
