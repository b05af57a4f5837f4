/** Judges errors of NATS servers and of the connection to them. */
import { JetStreamApiError } from '@nats-io/jetstream';
import {
  AuthorizationError,
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { messageOf } from '@sluice/protocol/unknown-value';

const streamMissing = 10_059;
/** The last message is not the expected one. */
const conflicts: ReadonlySet<number> = new Set([10_071, 10_164]);
/** The servers have no leader for a moment, or no storage left. */
const passing: ReadonlySet<number> = new Set([10_008, 10_023, 10_047, 10_077]);

const codeOf = (error: unknown) => (error instanceof JetStreamApiError ? error.code : 0);

export const isMissing = (error: unknown) => codeOf(error) === streamMissing;
export const isConflict = (error: unknown) => conflicts.has(codeOf(error));

function isConnectionError(error: unknown): boolean {
  const kinds = [
    ...[ConnectionError, ClosedConnectionError, DrainingConnectionError],
    ...[NoRespondersError, TimeoutError],
  ];
  if (kinds.some((kind) => error instanceof kind)) return true;
  if (error instanceof RequestError) return isConnectionError(error.cause);
  return systemErrorCode(error) !== undefined;
}

export function isTransient(error: unknown): boolean {
  if (error instanceof CodedError) return error.code === 'sync-target-unreachable';
  return isConflict(error) || passing.has(codeOf(error)) || isConnectionError(error);
}

/** Returns an error with a code that says what to do. */
export function explain(error: unknown, target: string): unknown {
  if (error instanceof CodedError) return error;
  const cause = error instanceof RequestError && error.cause !== undefined ? error.cause : error;
  const detail = { target, reason: messageOf(cause) };
  if (cause instanceof AuthorizationError || cause instanceof UserAuthenticationExpiredError)
    return new CodedError('sync-target-login', detail, { cause: error });
  if (cause instanceof PermissionViolationError)
    return new CodedError('sync-target-permission', detail, { cause: error });
  if (isConnectionError(cause))
    return new CodedError('sync-target-unreachable', detail, { cause: error });
  // The library does not export the class of the second one.
  const isDisabled = cause instanceof Error && cause.name === 'JetStreamNotEnabled';
  if (!(cause instanceof JetStreamApiError) && !isDisabled) return error;
  const code = isDisabled ? 'jetstream-disabled' : String(codeOf(cause));
  return new CodedError('sync-target-failed', { ...detail, code }, { cause: error });
}
