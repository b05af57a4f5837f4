// Reads and writes the bytes of a segment.
export { LZ_DICTIONARY_TABLE_BYTES, LZ_PAGE_TABLE_BYTES, LZ_TABLE_BYTES, lzBuildTable, lzCompress, lzDecompress } from './common/lz';
export { joinPlanes, splitPlanes, sumPlanes } from './common/planes';
export { compressPages, decodePages, encodePage } from './common/pages';
export { checksumChunks, findDamagedChunk } from './common/checksum';
export { BASE58_TABLE_BYTES, base58Initialize } from './common/base58';
export { keyTexts } from './common/texts';
