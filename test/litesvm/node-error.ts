import assert from 'node:assert/strict';
import type { FailedTransactionMetadata, TransactionMetadata } from 'litesvm';
import { isFailed } from './bank.ts';
import type { Json } from './write-json.ts';

/**
 * Converts LiteSVM's error to the form of a node: a variant without values is its name, one with values an object. LiteSVM returns the
 * former as numbers, whose names are only in its texts.
 */
export function toNodeError(result: TransactionMetadata | FailedTransactionMetadata): Json {
  if (!isFailed(result)) return null;
  const error = result.err();
  if (typeof error === 'number') return nameIn(result.toString(), /\berr: (\w+),/);
  if ('accountIndex' in error) {
    const name = nameIn(error.toString(), /^TransactionError(\w+)/);
    return { [name]: { account_index: error.accountIndex } };
  }
  assert('err' in error, 'the scenarios cause only this kind of error');
  const cause = error.err();
  if (typeof cause === 'number') {
    return { InstructionError: [error.index, nameIn(error.toString(), /\berror: (\w+)/)] };
  }
  assert('code' in cause, 'the scenarios cause only this kind of cause');
  return { InstructionError: [error.index, { Custom: cause.code }] };
}

function nameIn(text: string, pattern: RegExp): string {
  const name = pattern.exec(text)?.[1];
  assert(name !== undefined, `${text} names the error`);
  return name;
}
