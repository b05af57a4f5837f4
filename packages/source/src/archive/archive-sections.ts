/** The sections of a CAR file: a length as varint, then a CID and the bytes of a node, which the CID is the hash of. */
import { hash } from 'node:crypto';
import type { ByteCursor } from '../binary/byte-cursor.ts';
import { cidBytes, cidPrefix, keyOf } from './archive-nodes.ts';

/** The position of a node in the bytes of its block. */
export interface Section {
  /** The hash of the node, with which others refer to it. */
  readonly key: string;
  readonly at: number;
  readonly end: number;
}

/** Reads the section at the cursor. Throws unless its CID is the hash of its bytes. */
export function readSection(cursor: ByteCursor): Section {
  const start = cursor.at;
  const length = cursor.varintLength();
  const cid = cursor.at;
  const end = cid + length;
  if (length <= cidBytes) cursor.fail(`a section of ${length} bytes`, start);
  for (let i = 0; i < cidPrefix.length; i++) {
    if (cursor.bytes[cid + i] !== cidPrefix[i]) cursor.fail('a CID of an unknown kind', cid);
  }
  const at = cid + cidBytes;
  const key = keyOf(cursor.bytes, at - 32);
  if (sha256(cursor.bytes, at, end) !== key) {
    cursor.fail('a node whose CID is not the hash of its bytes', at);
  }
  cursor.at = end;
  return { key, at, end };
}

function sha256(bytes: Uint8Array, at: number, end: number): string {
  return hash('sha256', Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at), 'binary');
}
