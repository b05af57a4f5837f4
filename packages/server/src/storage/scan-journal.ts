import { CodedError } from '../base/errors.ts';
import {
  decodeRecordHeader,
  isRecordWhole,
  magicBytes,
  type RecordHeader,
  recordHeaderBytes,
  recordLength,
} from './journal-record.ts';

/** Where the bytes of a payload are. */
export interface PayloadPlace {
  readonly fileNumber: number;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
}

/** A row of a commit's payload table (id, length, CRC-32); its place follows from the order. */
type CommitRow = readonly [number, number, number];
/** A row of a checkpoint's: id, file number, offset, length, CRC-32. */
type CheckpointRow = readonly [number, number, number, number, number];

export interface ScannedRecord {
  readonly sequence: number;
  readonly body: unknown;
  readonly payloads: ReadonlyMap<number, PayloadPlace>;
}

export interface ScannedFile {
  readonly checkpoint: ScannedRecord;
  readonly commits: readonly ScannedRecord[];
  /** Where the next record goes. Bytes beyond it are what a crash left of a record that nobody was told of. */
  readonly end: number;
}

/**
 * Reads a journal file back. The tail may be torn: a crash in mid-write. A damaged record with a whole one behind it is
 * no such thing, since each was durable before the next was begun; then the file is refused and left as it is.
 */
export function scanJournal(bytes: Uint8Array, fileNumber: number): ScannedFile {
  const first = readRecord(bytes, 0, fileNumber);
  if (first === undefined || first.header.kind !== 'checkpoint') {
    throw new CodedError('journal-damaged', { file: fileNumber, offset: 0 });
  }
  const commits: ScannedRecord[] = [];
  let offset = recordLength(first.header);
  let sequence = first.header.sequence;
  for (;;) {
    const next = readRecord(bytes, offset, fileNumber);
    if (next === undefined) break;
    if (next.header.kind !== 'commit' || next.header.sequence !== sequence + 1) {
      throw new CodedError('journal-damaged', { file: fileNumber, offset });
    }
    commits.push(next.record);
    sequence = next.header.sequence;
    offset += recordLength(next.header);
  }
  if (hasRecordBehind(bytes, offset, { fileNumber, sequence })) {
    throw new CodedError('journal-damaged', { file: fileNumber, offset });
  }
  return { checkpoint: first.record, commits, end: offset };
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
  // Its checksum holds, so this is what we wrote.
  const meta = JSON.parse(text) as { payloads: CommitRow[] | CheckpointRow[]; body: unknown };
  const payloadStart = metaStart + header.metaLength;
  const payloads =
    header.kind === 'checkpoint'
      ? checkpointPlaces(meta.payloads as CheckpointRow[])
      : commitPlaces(meta.payloads as CommitRow[], fileNumber, payloadStart);
  return { header, record: { sequence: header.sequence, body: meta.body, payloads } };
}

function commitPlaces(
  rows: readonly CommitRow[],
  fileNumber: number,
  start: number,
): Map<number, PayloadPlace> {
  const places = new Map<number, PayloadPlace>();
  let offset = start;
  for (const [id, length, crc] of rows) {
    places.set(id, { fileNumber, offset, length, crc });
    offset += length;
  }
  return places;
}

function checkpointPlaces(rows: readonly CheckpointRow[]): Map<number, PayloadPlace> {
  return new Map(
    rows.map(([id, fileNumber, offset, length, crc]) => [id, { fileNumber, offset, length, crc }]),
  );
}

/** Whether a whole record that was written later lies anywhere behind `start`. */
function hasRecordBehind(
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

export function checkpointRow(id: number, place: PayloadPlace): CheckpointRow {
  return [id, place.fileNumber, place.offset, place.length, place.crc];
}
