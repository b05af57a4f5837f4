import assert from 'node:assert/strict';
import type { FailedTransactionMetadata, TransactionMetadata } from 'litesvm';
import { isFailed } from './bank.ts';
import type { Json } from './write-json.ts';

/**
 * LiteSVM's error as a node writes it: a variant without values is its bare name, one with values an object. LiteSVM gives
 * the former as numbers, whose names only its texts tell.
 */
export function toNodeError(result: TransactionMetadata | FailedTransactionMetadata): Json {
  if (!isFailed(result)) return null;
  const error = result.err();
  if (typeof error === 'number') return nameIn(result.toString(), /\berr: (\w+),/);
  if ('accountIndex' in error) {
    const name = nameIn(error.toString(), /^TransactionError(\w+)/);
    return { [name]: { account_index: error.accountIndex } };
  }
  assert('err' in error, 'no other kind of error is executed');
  const cause = error.err();
  if (typeof cause === 'number') {
    return { InstructionError: [error.index, nameIn(error.toString(), /\berror: (\w+)/)] };
  }
  assert('code' in cause, 'no other kind of cause is executed');
  return { InstructionError: [error.index, { Custom: cause.code }] };
}

function nameIn(text: string, pattern: RegExp): string {
  const name = pattern.exec(text)?.[1];
  assert(name !== undefined, `${text} names the error`);
  return name;
}
