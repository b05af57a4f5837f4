/**
 * One record of a journal file.
 *
 *   0  u32  magic, with the format version in its last letter
 *   4  u32  kind: 1 checkpoint, 2 commit
 *   8  u32  file number, which distinguishes stale records in a reused disk block
 *   12 u32  meta length
 *   16 u64  sequence, one more than that of the previous record
 *   24 u32  payload length
 *   28 u32  CRC-32 of meta
 *   32 u32  CRC-32 of all payloads
 *   36 u32  CRC-32 of the 36 bytes above
 *   40      meta, JSON text: {"payloads":[…],"body":…}
 *           payloads, one after another
 *
 * Numbers are little-endian. A record is written with one write and one sync, so a crash leaves at most one incomplete
 * record, at the end of the file.
 */
import { crc32 } from 'node:zlib';

export type RecordKind = 'checkpoint' | 'commit';

export interface RecordHeader {
  readonly kind: RecordKind;
  readonly fileNumber: number;
  readonly sequence: number;
  readonly metaLength: number;
  readonly payloadLength: number;
  readonly metaCrc: number;
  readonly payloadCrc: number;
}

export const recordHeaderBytes = 40;
const magic = 0x314a4c53; // "SLJ1"
/** The magic in the byte order of the file. */
export const magicBytes = Uint8Array.of(0x53, 0x4c, 0x4a, 0x31);
const kinds = new Map<number, RecordKind>([
  [1, 'checkpoint'],
  [2, 'commit'],
]);

/** Returns a record as the buffers of one write. */
export function encodeRecord(
  identity: Pick<RecordHeader, 'kind' | 'fileNumber' | 'sequence'>,
  meta: Uint8Array,
  payloads: readonly Uint8Array[],
): Uint8Array[] {
  let payloadCrc = 0;
  let payloadLength = 0;
  for (const payload of payloads) {
    payloadCrc = crc32(payload, payloadCrc);
    payloadLength += payload.byteLength;
  }
  const header = new Uint8Array(recordHeaderBytes);
  const view = new DataView(header.buffer);
  view.setUint32(0, magic, true);
  view.setUint32(4, identity.kind === 'checkpoint' ? 1 : 2, true);
  view.setUint32(8, identity.fileNumber, true);
  view.setUint32(12, meta.byteLength, true);
  view.setBigUint64(16, BigInt(identity.sequence), true);
  view.setUint32(24, payloadLength, true);
  view.setUint32(28, crc32(meta), true);
  view.setUint32(32, payloadCrc, true);
  view.setUint32(36, crc32(header.subarray(0, 36)), true);
  return [header, meta, ...payloads];
}

/** Returns the header at an offset, or `undefined` if there is no valid header. */
export function decodeRecordHeader(bytes: Uint8Array, offset: number): RecordHeader | undefined {
  if (offset + recordHeaderBytes > bytes.byteLength) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, recordHeaderBytes);
  if (view.getUint32(0, true) !== magic) return undefined;
  if (view.getUint32(36, true) !== crc32(bytes.subarray(offset, offset + 36))) return undefined;
  const kind = kinds.get(view.getUint32(4, true));
  const sequence = Number(view.getBigUint64(16, true));
  if (kind === undefined || !Number.isSafeInteger(sequence)) return undefined;
  return {
    kind,
    fileNumber: view.getUint32(8, true),
    sequence,
    metaLength: view.getUint32(12, true),
    payloadLength: view.getUint32(24, true),
    metaCrc: view.getUint32(28, true),
    payloadCrc: view.getUint32(32, true),
  };
}

export function recordLength(header: RecordHeader): number {
  return recordHeaderBytes + header.metaLength + header.payloadLength;
}

/** Returns whether the record at `offset` is complete and its checksums match. */
export function isRecordWhole(bytes: Uint8Array, offset: number, header: RecordHeader): boolean {
  const end = offset + recordLength(header);
  if (end > bytes.byteLength) return false;
  const metaStart = offset + recordHeaderBytes;
  const payloadStart = metaStart + header.metaLength;
  return (
    crc32(bytes.subarray(metaStart, payloadStart)) === header.metaCrc &&
    crc32(bytes.subarray(payloadStart, end)) === header.payloadCrc
  );
}
