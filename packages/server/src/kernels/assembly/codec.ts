// What a segment's bytes are made with: compression and byte planes.
export { LZ_TABLE_BYTES, lzCompress, lzDecompress } from './shared/lz';
export { joinPlanes, splitPlanes } from './shared/planes';
