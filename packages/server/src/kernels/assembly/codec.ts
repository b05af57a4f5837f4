// Reads and writes the bytes of a segment.
export { LZ_DICTIONARY_TABLE_BYTES, LZ_PAGE_TABLE_BYTES, LZ_TABLE_BYTES, lzBuildTable, lzCompress, lzDecompress } from './shared/lz';
export { joinPlanes, splitPlanes } from './shared/planes';
export { compressPages, decodePages, encodePage } from './shared/pages';
export { checksumChunks, findDamagedChunk } from './shared/checksum';
export { BASE58_TABLE_BYTES, base58Initialize } from './shared/base58';
export { keyTexts } from './shared/texts';
