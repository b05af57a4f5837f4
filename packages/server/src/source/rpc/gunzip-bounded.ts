import { gunzip } from 'node:zlib';

/** Decompresses a gzip member. Returns `undefined` if it is incomplete, damaged or larger than `bytesMax`. */
export function gunzipBounded(
  bytes: Uint8Array,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: bytesMax }, (error, inflated) => {
      resolve(error === null ? inflated : undefined);
    });
  });
}
