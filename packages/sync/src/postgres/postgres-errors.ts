/** Judges errors of PostgreSQL and of the connection to it. */
import { CodedError } from '@sluice/base/errors';
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';

/** Another process has taken over the table. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}

/**
 * Classes of SQLSTATE that pass: connection exceptions, rollbacks because of concurrent transactions, insufficient resources (a full disk,
 * too many connections), intervention of an operator (restarts), and errors of the system such as those of a disk.
 */
const transientClasses: ReadonlySet<string> = new Set(['08', '40', '53', '57', '58']);
/** Of the intervention class: the server is starting, stopping or recovering; the database was dropped. */
const startingState = '57P03';
const droppedState = '57P04';

const stateOf = (error: unknown): string => {
  const code = memberOf(error, 'code');
  return typeof code === 'string' ? code : '';
};

const isState = (code: string) => /^[0-9A-Z]{5}$/.test(code);

export function isTransient(error: unknown): boolean {
  if (error instanceof FencedError) return true;
  if (error instanceof CodedError) return error.code === 'sync-target-unreachable';
  const code = stateOf(error);
  if (isState(code)) return transientClasses.has(code.slice(0, 2)) && code !== droppedState;
  return isConnectionError(error);
}

/** Errors of sockets have a code such as ECONNRESET; the library reports a closed connection as text only. */
function isConnectionError(error: unknown): boolean {
  if (/^(E[A-Z]+|EAI_AGAIN)$/.test(stateOf(error))) return true;
  return /connection|timeout|not queryable/i.test(messageOf(error)) && error instanceof Error;
}

/** Returns an error with a code that says what to do. */
export function explain(error: unknown, target: string): unknown {
  if (error instanceof CodedError) return error;
  const code = stateOf(error);
  const reason = messageOf(error);
  if (!isState(code)) {
    if (!isConnectionError(error)) return error;
    const known = code === '' ? reason : code;
    return new CodedError('sync-target-unreachable', { target, reason: known }, { cause: error });
  }
  if (code === startingState)
    return new CodedError('sync-target-unreachable', { target, reason }, { cause: error });
  if (code.startsWith('28') || code === '3D000')
    return new CodedError('sync-target-login', { target, reason }, { cause: error });
  if (code === '42501')
    return new CodedError('sync-target-permission', { target, reason }, { cause: error });
  const hint = memberOf(error, 'hint');
  const hints = typeof hint === 'string' ? { hint } : {};
  return new CodedError('sync-target-failed', { target, code, reason, ...hints }, { cause: error });
}
