// The rows of a transaction that do not depend on the form in which it was read.
import { pushBalances, pushTokens } from './balances';
import { callCount, pushCalls } from './calls';
import { addKey, pushKeys } from './key-list';
import { isTruncated, logCount, walkLog } from './log-walk';
import { push } from './rows';
import { TX_BALANCE_COUNT, TX_DROPPED, TX_INSTRUCTION_COUNT, TX_LOG_COUNT, TX_TOKEN_BALANCE_COUNT } from '../../layout/columns';

/** Adds a list of addresses to the listed keys. */
export function addKeys(addresses: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) addKey(load<u32>(addresses + (i << 2)));
}

/** Appends calls, log and balances. `failed` is the failed top-level instruction, or all ones if none failed. */
export function pushOutcome(failed: u64, error: u32): bool {
  if (!walkLog(failed) || !pushCalls(error == 0)) return false;
  push(TX_DROPPED, isTruncated ? 1 : 0);
  push(TX_INSTRUCTION_COUNT, callCount);
  push(TX_LOG_COUNT, logCount);
  const balanceCount = pushBalances();
  const tokenCount = pushTokens();
  push(TX_BALANCE_COUNT, <u32>balanceCount);
  push(TX_TOKEN_BALANCE_COUNT, <u32>tokenCount);
  pushKeys();
  return balanceCount >= 0 && tokenCount >= 0;
}
