/** Reads values from the JSON of an IDL. A member that does not have the expected type is an error with its path. */
import { decodeBase58 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { hasMembers } from '@sluice/protocol/unknown-value';

export type Json = Readonly<Record<string, unknown>>;

/** An IDL is described by at most this many nested values, so that a hostile one does not exhaust the stack. */
const depthMax = 100;
const addressBytes = 32;

export function refuseIdl(path: string, expected: string): never {
  throw new CodedError('idl-invalid', { path: path === '' ? 'the IDL' : path, expected });
}

export function objectAt(value: unknown, path: string): Json {
  if (!hasMembers(value) || Array.isArray(value)) refuseIdl(path, 'an object');
  if (path.replace(/[^.[]/g, '').length > depthMax) refuseIdl(path, 'fewer nested values');
  return value;
}

export function textAt(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuseIdl(path, 'a text');
}

/** Returns the address of a program. */
export function addressAt(value: unknown, path: string): string {
  const text = textAt(value, path);
  return decodeBase58(text)?.length === addressBytes
    ? text
    : refuseIdl(path, `base58 of ${addressBytes} bytes`);
}

export function numberAt(value: unknown, path: string): number {
  return Number.isSafeInteger(value) ? Number(value) : refuseIdl(path, 'an integer');
}

/** Returns the elements with their paths. An absent list is empty. */
export function listAt(value: unknown, path: string): readonly (readonly [unknown, string])[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) refuseIdl(path, 'a list');
  return value.map((element: unknown, i) => [element, `${path}[${i}]`] as const);
}

export function bytesAt(value: unknown, path: string): Uint8Array {
  return Uint8Array.from(listAt(value, path), ([byte, at]) => {
    const number = numberAt(byte, at);
    return number >= 0 && number < 256 ? number : refuseIdl(at, 'a byte');
  });
}
