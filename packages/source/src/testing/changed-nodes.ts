/** Takes the block of an archive apart and joins changed nodes again, with the hashes and links that such nodes have. */
import { createHash } from 'node:crypto';
import { BinaryWriter } from '@sluice/grpc/binary-writer';

const cidPrefix = Buffer.from([0x01, 0x71, 0x12, 0x20]);
const cidBytes = 36;

/** A node and its hash in the links of other nodes, which stays when the node is changed. */
export interface ArchiveNode {
  readonly hash: Buffer;
  bytes: Uint8Array;
}

/** Returns the nodes of consecutive sections. */
export function splitNodes(sections: Uint8Array): ArchiveNode[] {
  const nodes: ArchiveNode[] = [];
  for (let at = 0; at < sections.length; ) {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = sections[at++] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    const hash = Buffer.from(sections.subarray(at + cidPrefix.length, at + cidBytes));
    nodes.push({ hash, bytes: sections.slice(at + cidBytes, at + length) });
    at += length;
  }
  return nodes;
}

/** Returns the sections of the nodes. Links to a changed node get its new hash, if it comes before them. */
export function joinNodes(nodes: readonly ArchiveNode[]): Uint8Array {
  const out = new BinaryWriter();
  const hashes: { readonly old: Buffer; readonly now: Buffer }[] = [];
  for (const { hash, bytes } of nodes) {
    const linked = Buffer.from(bytes);
    for (const { old, now } of hashes) replaceAll(linked, old, now);
    const now = createHash('sha256').update(linked).digest();
    hashes.push({ old: hash, now });
    out
      .varint(cidBytes + linked.length)
      .bytes(cidPrefix)
      .bytes(now)
      .bytes(linked);
  }
  return out.finish();
}

function replaceAll(bytes: Buffer, old: Buffer, now: Buffer): void {
  for (let at = bytes.indexOf(old); at >= 0; at = bytes.indexOf(old, at + now.length)) {
    now.copy(bytes, at);
  }
}
