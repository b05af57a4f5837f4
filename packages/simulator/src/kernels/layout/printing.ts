/**
 * The codes of the orders that the simulator gives to the kernel `assembly/print.ts`. This file is TypeScript and AssemblyScript at once,
 * and therefore has only integer constants without a type.
 */

/** The bits of a code. An order is an address or a number, shifted by this many bits, plus a code. */
export const ORDER_CODE_BITS = 3;
export const ORDER_CODE_MASK = 7;

export const ORDER_TEXT = 0;
export const ORDER_NUMBER = 1;
export const ORDER_NUMBERS = 2;
export const ORDER_AMOUNTS = 3;
export const ORDER_QUOTED = 4;
export const ORDER_BASE58 = 5;
export const ORDER_BASE64 = 6;
/** Prints an amount as a decimal number. */
export const ORDER_SHOWN = 7;

/** Added to the number of decimals of `ORDER_SHOWN`: an amount without decimals is printed as `5.0`, as a node prints a double. */
export const SHOWN_AS_DOUBLE = 256;
