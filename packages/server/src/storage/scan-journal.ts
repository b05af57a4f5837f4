import { crc32 } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import type { FsFile } from './fs.ts';
import {
  decodeRecordHeader,
  isRecordWhole,
  magicBytes,
  type RecordHeader,
  recordHeaderBytes,
  recordLength,
} from './journal-record.ts';

export interface PayloadLocation {
  readonly fileNumber: number;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
}

/** A row of a commit's payload table: id, length, CRC-32. The location follows from the order of the rows. */
type CommitRow = readonly [number, number, number];
/** A row of a checkpoint's payload table: id, file number, offset, length, CRC-32. */
type CheckpointRow = readonly [number, number, number, number, number];

export interface ScannedRecord {
  readonly sequence: number;
  readonly body: unknown;
  readonly payloads: ReadonlyMap<number, PayloadLocation>;
}

export interface ScannedFile {
  readonly checkpoint: ScannedRecord;
  readonly commits: readonly ScannedRecord[];
  /** The offset of the last commit; `end` if there is none. */
  readonly lastStart: number;
  /** The offset of the next record. Bytes beyond it are an incomplete record that was never acknowledged. */
  readonly end: number;
}

/**
 * Reads a journal file. The last record may be incomplete after a crash during its write. A damaged record before a
 * complete one is corruption, because each record was durable before the next one was started; the file is then
 * rejected and left unchanged.
 */
export function scanJournal(bytes: Uint8Array, fileNumber: number): ScannedFile {
  const first = readRecord(bytes, 0, fileNumber);
  if (first === undefined || first.header.kind !== 'checkpoint') {
    throw new CodedError('journal-damaged', { file: fileNumber, offset: 0 });
  }
  const commits: ScannedRecord[] = [];
  let offset = recordLength(first.header);
  let lastStart: number | undefined;
  let sequence = first.header.sequence;
  for (;;) {
    const next = readRecord(bytes, offset, fileNumber);
    if (next === undefined) break;
    if (next.header.kind !== 'commit' || next.header.sequence !== sequence + 1) {
      throw new CodedError('journal-damaged', { file: fileNumber, offset });
    }
    commits.push(next.record);
    sequence = next.header.sequence;
    lastStart = offset;
    offset += recordLength(next.header);
  }
  if (hasLaterRecord(bytes, offset, { fileNumber, sequence })) {
    throw new CodedError('journal-damaged', { file: fileNumber, offset });
  }
  return { checkpoint: first.record, commits, lastStart: lastStart ?? offset, end: offset };
}

function readRecord(
  bytes: Uint8Array,
  offset: number,
  fileNumber: number,
): { header: RecordHeader; record: ScannedRecord } | undefined {
  const header = decodeRecordHeader(bytes, offset);
  if (header === undefined || header.fileNumber !== fileNumber) return undefined;
  if (!isRecordWhole(bytes, offset, header)) return undefined;
  const metaStart = offset + recordHeaderBytes;
  const text = new TextDecoder().decode(bytes.subarray(metaStart, metaStart + header.metaLength));
  // The checksum matches, so this is JSON that we wrote.
  const meta = JSON.parse(text) as { payloads: CommitRow[] | CheckpointRow[]; body: unknown };
  const payloadStart = metaStart + header.metaLength;
  const payloads =
    header.kind === 'checkpoint'
      ? checkpointLocations(meta.payloads as CheckpointRow[])
      : commitLocations(meta.payloads as CommitRow[], fileNumber, payloadStart);
  return { header, record: { sequence: header.sequence, body: meta.body, payloads } };
}

function commitLocations(
  rows: readonly CommitRow[],
  fileNumber: number,
  start: number,
): Map<number, PayloadLocation> {
  const locations = new Map<number, PayloadLocation>();
  let offset = start;
  for (const [id, length, crc] of rows) {
    locations.set(id, { fileNumber, offset, length, crc });
    offset += length;
  }
  return locations;
}

function checkpointLocations(rows: readonly CheckpointRow[]): Map<number, PayloadLocation> {
  return new Map(
    rows.map(([id, fileNumber, offset, length, crc]) => [id, { fileNumber, offset, length, crc }]),
  );
}

/** Returns whether a complete record with a higher sequence follows anywhere after `start`. */
function hasLaterRecord(
  bytes: Uint8Array,
  start: number,
  last: { readonly fileNumber: number; readonly sequence: number },
): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pattern = Buffer.from(magicBytes);
  for (let at = buffer.indexOf(pattern, start); at >= 0; at = buffer.indexOf(pattern, at + 1)) {
    const header = decodeRecordHeader(bytes, at);
    const isLater = header?.fileNumber === last.fileNumber && header.sequence > last.sequence;
    if (at > start && header !== undefined && isLater && isRecordWhole(bytes, at, header))
      return true;
  }
  return false;
}

export function commitRow(id: number, bytes: Uint8Array, crc: number): CommitRow {
  return [id, bytes.byteLength, crc];
}

export function checkpointRow(id: number, location: PayloadLocation): CheckpointRow {
  return [id, location.fileNumber, location.offset, location.length, location.crc];
}

/** Returns the bytes of a payload after verifying their checksum. */
export async function readPayload(
  file: FsFile,
  { fileNumber, offset, length, crc }: PayloadLocation,
): Promise<Uint8Array> {
  const bytes = await file.read(offset, length);
  if (bytes.byteLength !== length || crc32(bytes) !== crc) {
    throw new CodedError('payload-damaged', { file: fileNumber, offset });
  }
  return bytes;
}
