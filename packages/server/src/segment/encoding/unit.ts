/**
 * A unit is a part of a segment that is read as a whole: a section dictionary, a page of postings, a column of the block table, and so on.
 * Its entry in the directory has its position, its coding and its checksum.
 *
 *   offset u64 · stored length u32 · raw length u32 · count u32 · checksum u32 · codec u8 · planes u8 · zero u16
 *
 * Codec 0 is raw, 1 is LZ4, 2 is constant: all values of each byte plane are equal and stored once, so most flags and many counts take
 * almost no space.
 */
import { crc32 } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { discard } from '@sluice/base/memory/discard';
import { compress, decompress, decompressInto, joinInts, joinLongs, splitPlanes } from './codec.ts';
import { PlaneInts } from './plane-ints.ts';

export const unitEntryBytes = 28;

const CODEC = { raw: 0, lz4: 1, constant: 2 } as const;

export interface UnitEntry {
  readonly offset: number;
  readonly storedLength: number;
  readonly rawLength: number;
  /** The number of values: integers, or bytes if the unit has bytes. */
  readonly count: number;
  readonly checksum: number;
  readonly codec: number;
  /** Bytes per integer; 0 if the unit has bytes. */
  readonly planes: number;
}

export interface EncodedUnit extends UnitEntry {
  readonly stored: Uint8Array;
}

/** Creates a unit from a column: compressed for storage, or plain if it is read once and soon. */
export interface UnitEncoder {
  bytes(values: Uint8Array): EncodedUnit;
  ints(values: Uint32Array | BigUint64Array): EncodedUnit;
}

export const packedUnits: UnitEncoder = {
  bytes: (values) => pack(values, values.length, 0),
  ints: (values) => encodeInts(values, pack),
};

export const plainUnits: UnitEncoder = {
  bytes: (values) => keepPlain(values, values.length, 0),
  ints: (values) => encodeInts(values, keepPlain),
};

type EncodeRaw = (raw: Uint8Array, count: number, planes: number) => EncodedUnit;

function encodeInts(values: Uint32Array | BigUint64Array, encodeRaw: EncodeRaw): EncodedUnit {
  const planes = planesFor(values);
  if (values.length > 0 && isConstant(values)) {
    const constant = splitPlanes(values.subarray(0, 1) as typeof values, planes);
    return withChecksum(constant, {
      rawLength: values.length * planes,
      count: values.length,
      planes,
      codec: CODEC.constant,
    });
  }
  return encodeRaw(splitPlanes(values, planes), values.length, planes);
}

function keepPlain(raw: Uint8Array, count: number, planes: number): EncodedUnit {
  return withChecksum(raw, { rawLength: raw.length, count, planes, codec: CODEC.raw });
}

function pack(raw: Uint8Array, count: number, planes: number): EncodedUnit {
  const packed = raw.length > 32 ? compress(raw) : undefined;
  const codec = packed === undefined ? CODEC.raw : CODEC.lz4;
  return withChecksum(packed ?? raw, { rawLength: raw.length, count, planes, codec });
}

function withChecksum(
  stored: Uint8Array,
  shape: Pick<UnitEntry, 'rawLength' | 'count' | 'planes' | 'codec'>,
): EncodedUnit {
  // The fields are listed one by one, because spreading an object here took a seventh of the time of importing small blocks.
  return {
    offset: 0,
    storedLength: stored.length,
    rawLength: shape.rawLength,
    count: shape.count,
    checksum: crc32(stored),
    codec: shape.codec,
    planes: shape.planes,
    stored,
  };
}

function isConstant(values: Uint32Array | BigUint64Array): boolean {
  const first = values[0];
  for (let i = 1; i < values.length; i++) if (values[i] !== first) return false;
  return true;
}

function planesFor(values: Uint32Array | BigUint64Array): number {
  if (values instanceof Uint32Array) {
    let bits = 0;
    for (let i = 0; i < values.length; i++) bits |= values[i] as number;
    return Math.max(1, Math.ceil((32 - Math.clz32(bits)) / 8));
  }
  const halves = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  let low = 0;
  let high = 0;
  for (let i = 0; i < halves.length; i += 2) {
    low |= halves[i] as number;
    high |= halves[i + 1] as number;
  }
  const bits = high === 0 ? 32 - Math.clz32(low) : 64 - Math.clz32(high);
  return Math.max(1, Math.ceil(bits / 8));
}

/** Verifies and decompresses a unit. Errors use `name` for it. */
export function decodeUnit(stored: Uint8Array, entry: UnitEntry, name: string): Uint8Array {
  verifyUnit(stored, entry, name);
  if (entry.codec === CODEC.raw && stored.length === entry.rawLength) return stored;
  const raw =
    entry.codec === CODEC.lz4
      ? decompress(stored, entry.rawLength)
      : entry.codec === CODEC.constant
        ? repeatPlanes(stored, entry)
        : undefined;
  if (raw === undefined) throw damaged(name, 'it does not decode');
  return raw;
}

/** Verifies a unit of bytes and decompresses it to `target`, which has its raw length. Errors use `name` for it. */
export function decodeUnitInto(
  stored: Uint8Array,
  entry: UnitEntry,
  name: string,
  target: Uint8Array,
): void {
  if (!isCompressed(entry)) {
    target.set(decodeUnit(stored, entry, name));
    return;
  }
  verifyUnit(stored, entry, name);
  if (!decompressInto(stored, target)) throw damaged(name, 'it does not decode');
}

/** Verifies a unit of integers and returns them without putting them together. */
export function decodeInts(stored: Uint8Array, entry: UnitEntry, name: string): PlaneInts {
  const { count, planes } = entry;
  const isConstant = entry.codec === CODEC.constant;
  if (isConstant) verifyUnit(stored, entry, name);
  const decoded = isConstant ? stored : decodeUnit(stored, entry, name);
  if (decoded.length !== planes * (isConstant ? 1 : count))
    throw damaged(name, 'it does not decode');
  return new PlaneInts(decoded, count, planes, isConstant);
}

/** Whether decoding returns other memory than the stored bytes. */
export function isCompressed({ codec }: UnitEntry): boolean {
  return codec === CODEC.lz4;
}

function verifyUnit(stored: Uint8Array, entry: UnitEntry, name: string): void {
  if (stored.length !== entry.storedLength) throw damaged(name, 'it is truncated');
  if (crc32(stored) !== entry.checksum) throw damaged(name, 'its checksum does not match');
}

/** Returns the integers of a decoded unit. The planes must not be used afterwards. */
export function joinIntUnit(planes: Uint8Array, entry: UnitEntry): Uint32Array {
  const values = joinInts(planes, entry.planes, entry.count);
  discard(planes);
  return values;
}

export function joinLongUnit(planes: Uint8Array, entry: UnitEntry): BigUint64Array {
  const values = joinLongs(planes, entry.planes, entry.count);
  discard(planes);
  return values;
}

function repeatPlanes(stored: Uint8Array, entry: UnitEntry): Uint8Array {
  const raw = new Uint8Array(entry.rawLength);
  let start = 0;
  for (const byte of stored) {
    raw.fill(byte, start, start + entry.count);
    start += entry.count;
  }
  return raw;
}

export function damaged(unit: string, reason: string): CodedError {
  return new CodedError('segment-damaged', { unit, reason });
}

/** Returns the entry of a range of the plain part, which is read in pieces and protected by the checksums of its chunks. */
export function plainEntry(offset: number, length: number): UnitEntry {
  const shape = { rawLength: length, count: length, planes: 0, codec: CODEC.raw };
  return { offset, storedLength: length, checksum: 0, ...shape };
}

export function writeEntry(view: DataView, at: number, entry: UnitEntry): void {
  view.setBigUint64(at, BigInt(entry.offset), true);
  view.setUint32(at + 8, entry.storedLength, true);
  view.setUint32(at + 12, entry.rawLength, true);
  view.setUint32(at + 16, entry.count, true);
  view.setUint32(at + 20, entry.checksum, true);
  view.setUint8(at + 24, entry.codec);
  view.setUint8(at + 25, entry.planes);
}

export function readEntry(view: DataView, at: number): UnitEntry {
  return {
    offset: Number(view.getBigUint64(at, true)),
    storedLength: view.getUint32(at + 8, true),
    rawLength: view.getUint32(at + 12, true),
    count: view.getUint32(at + 16, true),
    checksum: view.getUint32(at + 20, true),
    codec: view.getUint8(at + 24),
    planes: view.getUint8(at + 25),
  };
}

/** Checks that an entry of a directory is possible in a file of that length. */
export function checkEntry(entry: UnitEntry, fileLength: number, name: string): UnitEntry {
  if (!isPossibleEntry(entry, fileLength)) throw impossibleEntry(name);
  return entry;
}

export function isPossibleEntry(entry: UnitEntry, fileLength: number): boolean {
  const isInside = entry.offset + entry.storedLength <= fileLength;
  const isShaped =
    entry.planes === 0
      ? entry.rawLength === entry.count
      : entry.rawLength === entry.count * entry.planes;
  return isInside && isShaped && entry.planes <= 8;
}

export function impossibleEntry(name: string): CodedError {
  return damaged(name, 'its directory entry is impossible');
}
