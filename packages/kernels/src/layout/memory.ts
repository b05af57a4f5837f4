/**
 * The division of a kernel's memory. This file is TypeScript and AssemblyScript at once, and therefore has only integer constants without a
 * type.
 */

/** The static data of kernels is below this address. The memory from here on belongs to the code that calls them. */
export const FREE_MEMORY_START = 65536;
