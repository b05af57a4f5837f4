/** The file that lists which granules (parts of `granuleBytes`) of an object are in its cache file: a line of JSON, then one bit for each. */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { memberOf } from '@sluice/protocol/unknown-value';
import { granuleBytes } from './presence.ts';

export const dataSuffix = '.data';
export const mapSuffix = '.map';

export interface CacheMap {
  readonly byteLength: number;
  /** The bits, without the generation that `Presence` stores before them. */
  readonly words: Int32Array;
}

export function writeMap(path: string, { byteLength, words }: CacheMap): void {
  const bits = Buffer.from(words.slice().buffer);
  const head = JSON.stringify({ byteLength, granuleBytes, crc: crc32(bits) });
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, Buffer.concat([Buffer.from(`${head}\n`), bits]));
  renameSync(temporary, path);
}

/** Returns undefined if the file is damaged or of another kind. */
export function readMap(path: string): CacheMap | undefined {
  try {
    const bytes = readFileSync(path);
    const end = bytes.indexOf(10);
    const head: unknown = JSON.parse(bytes.subarray(0, end).toString());
    const bits = bytes.subarray(end + 1);
    const byteLength = memberOf(head, 'byteLength');
    if (memberOf(head, 'granuleBytes') !== granuleBytes) return undefined;
    if (memberOf(head, 'crc') !== crc32(bits)) return undefined;
    if (typeof byteLength !== 'number') return undefined;
    const words = new Int32Array(new Uint8Array(bits).buffer);
    const wordCount = Math.ceil(Math.ceil(byteLength / granuleBytes) / 32);
    return words.length === wordCount ? { byteLength, words } : undefined;
  } catch {
    return undefined;
  }
}
