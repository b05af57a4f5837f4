/** The errors of instructions, with the texts of the programs. */
import type { Cause } from '../machine/machine.ts';

export function custom(code: number, line?: string): Cause {
  const text = `custom program error: 0x${code.toString(16)}`;
  const cause = { detail: `{"Custom":${code}}`, text };
  return line === undefined ? cause : { ...cause, line };
}

function anchor(code: number, name: string, message: string): Cause {
  const text = `Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`;
  return custom(code, `AnchorError occurred. ${text}`);
}

export function named(name: string, text: string): Cause {
  return { detail: `"${name}"`, text };
}

export const SHORT_OF_TOKENS = custom(1, 'Error: insufficient funds');
export const NOT_EMPTY = custom(
  11,
  'Error: Non-native account can only be closed if its balance is zero',
);
export const ILLEGAL_OWNER = named('IllegalOwner', 'Provided owner is not allowed');
export const SLIPPAGE = anchor(6001, 'SlippageToleranceExceeded', 'Slippage tolerance exceeded');
export const NO_PROFIT = anchor(6003, 'NoProfit', 'The route does not return more than it costs');
export const BOOK_EMPTY = anchor(6003, 'NotEnoughLiquidity', 'The book holds less than that');
export const TOO_LATE = anchor(6024, 'TooLate', 'The deadline has passed');
export const HEALTHY = anchor(6007, 'ObligationHealthy', 'The obligation cannot be liquidated');
export const TOO_MUCH_DEBT = anchor(6012, 'BorrowTooLarge', 'The collateral does not cover that');
