import { type CodedError, ERRORS, type ErrorRow, isCodedError } from '../base/errors.ts';

/** An error as it goes out: the one shape of all but 409. */
export interface ErrorReply {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Whatever is no fault of the client's that the catalogue gives a status is ours, and says nothing of the inside. */
export function buildErrorReply(error: unknown, requestId: string): ErrorReply {
  if (!isCodedError(error)) return buildReply('internal-error', requestId);
  const row: ErrorRow = ERRORS[error.code];
  return row.status === undefined
    ? buildReply('internal-error', requestId)
    : buildReply(error.code, requestId, error);
}

function buildReply(code: CodedError['code'], requestId: string, error?: CodedError): ErrorReply {
  const row: ErrorRow = ERRORS[code];
  const { path, allowed } = error?.detail ?? {};
  const body = JSON.stringify({
    error: {
      code,
      message: error?.message ?? row.text,
      ...(typeof path === 'string' ? { path } : {}),
      requestId,
    },
  });
  return {
    status: row.status ?? 500,
    code,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(row.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(row.status === 405 && typeof allowed === 'string' ? { allow: allowed } : {}),
      ...(row.retryAfterSeconds === undefined
        ? {}
        : { 'retry-after': String(row.retryAfterSeconds) }),
      // What is left of a body that was refused would be taken for the next request.
      ...(row.status === 413 ? { connection: 'close' } : {}),
    },
    body,
  };
}
