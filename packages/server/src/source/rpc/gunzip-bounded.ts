import { gunzip } from 'node:zlib';

/** The whole of a gzip member, or `undefined` if it is cut, damaged or larger than the bound. */
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
