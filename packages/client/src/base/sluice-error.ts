/** The catalogue of all errors of the client. Codes are public, listed in `docs/client.md`, and never reused. */
export interface ClientErrorRow {
  /** A description of the error. */
  readonly text: string;
  /** The action that resolves it. */
  readonly remedy: string;
  /** Whether the same call can succeed later without a change. The stream retries these errors by itself. */
  readonly retryable: boolean;
}

export const CLIENT_ERRORS = {
  'option-invalid': {
    text: 'an option has an invalid value',
    remedy: 'correct the option that the message names',
    retryable: false,
  },
  'cursor-invalid': {
    text: 'the stored cursor cannot be read',
    remedy: 'restore the cursor from a backup, or delete it and start again from a known block',
    retryable: false,
  },
  'cursor-failed': {
    text: 'the cursor could not be loaded or saved',
    remedy: 'check that the storage of the cursor exists and is writable',
    retryable: false,
  },
  'query-invalid': {
    text: 'the service refused the query',
    remedy: 'correct the value at the path that the message names',
    retryable: false,
  },
  'range-unavailable': {
    text: 'the range starts below the first block that the service has',
    remedy: 'start at `start_block` of `metadata()`, or use a service with more history',
    retryable: false,
  },
  'key-refused': {
    text: 'the service requires a key, and the request had none or a wrong one',
    remedy: 'set the option `key` to a valid key of the service',
    retryable: false,
  },
  'not-found': {
    text: 'the service has no such dataset or address',
    remedy: 'check the option `url`: it ends in /datasets/NAME, and GET /datasets lists the names',
    retryable: false,
  },
  'not-stored': {
    text: 'the dataset does not have what the call looks up',
    remedy:
      'read the reason of the service: a slot was skipped, is above the head, or is below `start_block`',
    retryable: false,
  },
  redirected: {
    text: 'the service responded with a redirect',
    remedy: 'set the option `url` to the final address; a redirected POST would lose its query',
    retryable: false,
  },
  'request-refused': {
    text: 'the service refused the request',
    remedy: 'read the message of the service, which is part of the error',
    retryable: false,
  },
  'over-limit': {
    text: 'the limit of the key, or of the service, is reached',
    remedy: 'wait, send fewer requests at once, or ask the operator for a higher limit',
    retryable: true,
  },
  'service-unavailable': {
    text: 'the service is not available now',
    remedy: 'wait: it is starting, stopping or overloaded, or a proxy cannot reach it',
    retryable: true,
  },
  'service-failed': {
    text: 'the service failed while it handled the request',
    remedy: 'wait and retry; the log of the service has the cause under the request id',
    retryable: true,
  },
  'network-failed': {
    text: 'the connection failed',
    remedy: 'check that the service runs and that its address can be reached from here',
    retryable: true,
  },
  timeout: {
    text: 'the service did not respond in time',
    remedy: 'check the load of the service, or raise the option `timeoutMs`',
    retryable: true,
  },
  stalled: {
    text: 'the response stopped before its end',
    remedy: 'check the network, and that no proxy buffers responses; `stallMs` is the limit',
    retryable: true,
  },
  'response-cut': {
    text: 'the response ended in the middle of a line',
    remedy: 'check the network and the proxies; complete lines before the end are kept',
    retryable: true,
  },
  'response-malformed': {
    text: 'the response does not follow the interface',
    remedy: 'check that `url` is a dataset of Sluice or of an SQD Portal, and check the proxies',
    retryable: true,
  },
  'line-too-long': {
    text: 'a line of the response is longer than the limit',
    remedy: 'select fewer fields, or raise the option `lineBytesMax`',
    retryable: false,
  },
  'no-common-block': {
    text: 'the ledger forked below every block that the cursor knows',
    remedy: 'delete everything stored above the last finalized block, and start again from there',
    retryable: false,
  },
  'base58-invalid': {
    text: 'the text is not base58 of the expected length',
    remedy:
      'check for characters that base58 does not have (0, O, I, l) and that the text is complete',
    retryable: false,
  },
} as const satisfies Record<string, ClientErrorRow>;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

/** The content of the service's error body. */
export interface ServiceReply {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly path?: string;
  readonly requestId?: string;
}

export interface SluiceErrorOptions {
  /** The details of this occurrence, which are part of the message. */
  readonly detail?: string;
  readonly reply?: ServiceReply;
  /** The delay that the service requests. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Every error that the client throws, except the reason of an aborted signal. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError';
  readonly code: ClientErrorCode;
  readonly remedy: string;
  readonly retryable: boolean;
  readonly reply: ServiceReply | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ClientErrorCode, options: SluiceErrorOptions = {}) {
    const { text, remedy, retryable } = CLIENT_ERRORS[code];
    const detail = options.detail === undefined ? '' : ` (${options.detail})`;
    super(`${text}${detail}; ${remedy} [${code}]`, { cause: options.cause });
    this.code = code;
    this.remedy = remedy;
    this.retryable = retryable;
    this.reply = options.reply;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isSluiceError(error: unknown, code?: ClientErrorCode): error is SluiceError {
  return error instanceof SluiceError && (code === undefined || error.code === code);
}
