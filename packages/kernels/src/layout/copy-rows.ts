/**
 * The description of a column from which the kernel writes rows. This file is TypeScript and AssemblyScript at once, and therefore has only integer
 * constants without a type.
 *
 *   kind │ address of the validity bits, or 0 │ address of the values │ starts of the bytes │ bytes
 *
 * Each is a word of 32 bits. A kind has as many of them as it needs.
 */
export const COPY_COLUMN_BYTES = 20;

/** Fields with their lengths, one after another; `starts` has where each begins. They are copied as they are. */
export const COPY_FIELDS = 0;
/** Bytes between two starts. */
export const COPY_SLICES = 1;
/** Indexes of slices. */
export const COPY_DICTIONARY = 2;
export const COPY_BOOLEAN = 3;
/** The field is an integer of 4 bytes; the values have 32 bits. */
export const COPY_INTEGER = 4;
/** The field is an integer of 8 bytes. */
export const COPY_BIGINT = 5;
/** The values are unix seconds of 64 bits, the fields microseconds since 2000. */
export const COPY_TIME = 6;
export const COPY_NUMERIC = 7;

/** Added to a kind of integers. */
export const COPY_LONG = 16;
export const COPY_SIGNED = 32;

/** How many bytes after the limit of its output and after its input the kernel may write or read. */
export const COPY_SLACK_BYTES = 64;
