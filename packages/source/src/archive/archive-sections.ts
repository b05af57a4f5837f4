/** The sections of a CAR file: a length as varint, then a CID and the bytes of a node, which the CID is the hash of. */
import { hash } from 'node:crypto';
import { elementAt } from '@sluice/base/element-at';
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
  verifyNode(cursor, at, end);
  cursor.at = end;
  return { key: keyOf(cursor.bytes, at - 32), at, end };
}

/** Verifies nodes whose positions are known: start and end, alternating. The CID of a node is in front of it. */
export function verifyNodes(cursor: ByteCursor, positions: Uint32Array): void {
  for (let i = 0; i < positions.length; i += 2) {
    verifyNode(cursor, elementAt(positions, i), elementAt(positions, i + 1));
  }
}

/** Returns the sections of nodes by their keys. */
export function indexNodes(bytes: Uint8Array, positions: Uint32Array): Map<string, Section> {
  const sections = new Map<string, Section>();
  for (let i = 0; i < positions.length; i += 2) {
    const at = elementAt(positions, i);
    const key = keyOf(bytes, at - 32);
    sections.set(key, { key, at, end: elementAt(positions, i + 1) });
  }
  return sections;
}

function verifyNode(cursor: ByteCursor, at: number, end: number): void {
  if (sha256(cursor.bytes, at, end) === keyOf(cursor.bytes, at - 32)) return;
  cursor.fail('a node whose CID is not the hash of its bytes', at);
}

/** The native function hashes 1 kB in about 1 µs on processors with SHA instructions. A kernel could not use them. */
function sha256(bytes: Uint8Array, at: number, end: number): string {
  return hash('sha256', Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at), 'binary');
}
