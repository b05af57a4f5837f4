/**
 * The numbers that the readers of blocks share with their kernels. This file is TypeScript and AssemblyScript at once, and
 * therefore has only integer constants without a type.
 */

/** Findings of the scan of a JSON text, as bits. */
export const SCAN_NON_ASCII = 1;
export const SCAN_TOO_DEEP = 2;
export const SCAN_LONE_SURROGATE = 4;
export const SCAN_DELETE = 8;

/** How many bytes after a piece its scan may read. */
export const SCAN_AHEAD_BYTES = 64;

/** A longer transaction is not checked by the vote kernel. Votes have 1,000 to 1,500 bytes. */
export const VOTE_BYTES_MAX = 2048;

/** The longest base58 text of the decoder: more than the text of all data of a transaction of 1,232 bytes. */
export const BASE58_CHARACTERS_MAX = 1792;

/** The space for the name of an error, with its length in front. */
export const ERROR_NAME_BYTES = 64;

/** The most transactions of a binary block, and the most nodes of a block of an archive, that the kernel lists. Real blocks have some thousands. */
export const POSITION_COUNT_MAX = 32768;
export const ARCHIVE_SECTION_COUNT_MAX = 65536;

/** Why a Zstandard frame was not decoded. */
export const ZSTD_TRUNCATED = -1;
export const ZSTD_NOT_ZSTD = -2;
export const ZSTD_DICTIONARY = -3;
export const ZSTD_INVALID = -4;
export const ZSTD_TOO_LARGE = -5;
export const ZSTD_CHECKSUM = -6;

/** How many bytes after its input and its output the decoder of Zstandard may read or write. */
export const ZSTD_SLACK_BYTES = 64;
