import { type CodedError, ERRORS, type ErrorRow, isCodedError } from '@sluice/base/errors';

/** The response of every error except 409. */
export interface ErrorReply {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Builds the response of an error. Errors without a status in the catalogue become `internal-error`, without details. */
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
      // The unread rest of a rejected body would be parsed as the next request.
      ...(row.status === 413 ? { connection: 'close' } : {}),
    },
    body,
  };
}
