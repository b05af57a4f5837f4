/** Errors of an invalid query. Each one contains the path of the value, the value found and the allowed values. */

import { CodedError, type ErrorCode } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import { hasMembers } from '@sluice/protocol/unknown-value';

/** The path of a value in a query, as a client would write it: `instructions[2].d8[0]`. */
export type QueryPath = string;

/** The path of the body itself. */
export const BODY_PATH: QueryPath = '$';

// Client text in an error is truncated: a person reads it, and it must not echo a megabyte.
const echoLengthMax = 64;

export function joinPath(path: QueryPath, step: string | number): QueryPath {
  if (typeof step === 'number') return `${path}[${step}]`;
  const isPlain = step.length <= echoLengthMax && /^[A-Za-z_$][\w$]*$/.test(step);
  if (!isPlain) return `${path}[${quote(step)}]`;
  return path === BODY_PATH ? step : `${path}.${step}`;
}

type QueryErrorCode = Extract<ErrorCode, `query-${string}-${string}`>;

export interface RefusalReason {
  readonly path: QueryPath;
  readonly found: unknown;
  readonly allowed: string;
  /** The allowed name that is most similar to the one found. */
  readonly nearest?: string | undefined;
  /** What is wrong with the value, if that is not clear from the allowed values. */
  readonly fault?: string | undefined;
  /** How to make the value allowed. */
  readonly remedy?: string | undefined;
}

export function refuse(code: QueryErrorCode, reason: RefusalReason): never {
  const { path, found, fault, nearest, allowed, remedy } = reason;
  throw new CodedError(code, {
    path,
    found: describeValue(found),
    ...(fault === undefined ? {} : { fault }),
    ...(nearest === undefined ? {} : { nearest }),
    allowed,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** Returns a short description of a value for a message. */
function describeValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'number' || typeof value === 'boolean') {
    return String(value);
  }
  return `a value of type ${typeof value}`;
}

/**
 * Returns the text quoted and escaped, truncated if necessary. `JSON.stringify` also escapes a surrogate that the
 * truncation cut in half.
 */
export function quote(text: string): string {
  return text.length <= echoLengthMax
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, echoLengthMax))}…`;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function requireObject(value: unknown, path: QueryPath): JsonObject {
  if (!hasMembers(value) || Array.isArray(value)) {
    refuse('query-value-invalid', { path, found: value, allowed: 'an object' });
  }
  return value;
}

export function requireArray(value: unknown, path: QueryPath): readonly unknown[] {
  if (!Array.isArray(value)) {
    refuse('query-value-invalid', { path, found: value, allowed: 'an array' });
  }
  return value;
}

export function requireBoolean(value: unknown, path: QueryPath): boolean {
  if (typeof value !== 'boolean') {
    refuse('query-value-invalid', { path, found: value, allowed: 'true or false' });
  }
  return value;
}

/** Rejects keys outside the list, because a typo in a filter must not silently return the whole chain. */
export function requireKnownKeys(
  object: JsonObject,
  allowed: readonly string[],
  path: QueryPath,
): void {
  for (const key of Object.keys(object)) {
    if (allowed.includes(key)) continue;
    refuse('query-key-unknown', {
      path: joinPath(path, key),
      found: key,
      allowed: allowed.length === 0 ? 'no keys' : allowed.join(', '),
      nearest: findNearestName(key, allowed),
    });
  }
}

/** Returns the value of an own key. Inherited properties (`constructor`, `__proto__`) are not part of a query. */
export function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
