import type { ByteCursor, Integer } from './byte-cursor.ts';

/** How the value of a protobuf field is written. */
export const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/**
 * Calls `take` for each field of a protobuf message with its number and wire type, and the cursor at its value. `take` returns whether it
 * has read the value; others are skipped, so that newer messages can be read. Ends early once `isDone` returns true.
 */
export function readFields(
  cursor: ByteCursor,
  take: (field: number, type: number, cursor: ByteCursor) => boolean,
  isDone: () => boolean = () => false,
): void {
  while (!cursor.isAtEnd && !isDone()) {
    const start = cursor.at;
    const tag = cursor.varint();
    const field = Math.floor(Number(tag) / 8);
    const type = Number(tag) % 8;
    if (tag > 0xffff_ffff || field === 0) cursor.fail(`a field with the tag ${tag}`, start);
    if (!take(field, type, cursor)) skipValue(cursor, type, start);
  }
}

function skipValue(cursor: ByteCursor, type: number, start: number): void {
  switch (type) {
    case wire.varint:
      cursor.varint();
      return;
    case wire.fixed64:
      cursor.skip(8);
      return;
    case wire.bytes:
      cursor.skip(cursor.varintLength());
      return;
    case wire.fixed32:
      cursor.skip(4);
      return;
    default:
      cursor.fail(`a field of the wire type ${type}`, start);
  }
}

/** Returns a cursor over a field that is a message, bytes or text. */
export function readPart(cursor: ByteCursor): ByteCursor {
  return cursor.cut(cursor.varintLength());
}

export function readText(cursor: ByteCursor): string {
  return cursor.text(cursor.varintLength());
}

export function readBase58(cursor: ByteCursor): string {
  return cursor.base58(cursor.varintLength());
}

/** Reads bytes as a list of small integers, as JSON has them. */
export function readIndexes(cursor: ByteCursor): number[] {
  return Array.from(cursor.take(cursor.varintLength()));
}

/** Reads a repeated integer, which is written packed or one by one. Returns false for another wire type. */
export function readIntegers(cursor: ByteCursor, type: number, out: Integer[]): boolean {
  if (type === wire.varint) {
    out.push(cursor.varint());
    return true;
  }
  if (type !== wire.bytes) return false;
  const list = readPart(cursor);
  while (!list.isAtEnd) out.push(list.varint());
  return true;
}

/** Returns an integer of 64 bits in two's complement. */
export function toSigned(value: Integer): Integer {
  if (typeof value === 'number') return value;
  const signed = BigInt.asIntN(64, value);
  return signed >= -999_999_999_999_999n && signed <= 999_999_999_999_999n
    ? Number(signed)
    : signed;
}
