import { CodedError, ERRORS, type ErrorRow, isCodedError } from '@sluice/base/errors';
import type { Logger } from 'pino';

/**
 * Returns the error that a client gets. Failures of the disk or of a worker thread are logged, and the client is asked to
 * retry.
 */
export function refuseUnread(error: unknown, log: Logger): unknown {
  if (!isCodedError(error)) return error;
  const row: ErrorRow = ERRORS[error.code];
  if (row.status !== undefined) return error;
  log.error({ err: error, code: error.code }, 'stored blocks cannot be read');
  return new CodedError('storage-unreachable', {}, { cause: error });
}
