/** The encoding of levels and of indexes: runs of one value, or values of a fixed number of bits. */
import type { ByteSink } from './byte-sink.ts';

/** Returns the number of bits that a value needs. */
export const bitsFor = (valueMax: number): number => 32 - Math.clz32(valueMax);

/** Appends values of at most `bits` bits, at most 24: as one run if all are the same, and otherwise packed. */
export function writeHybrid(sink: ByteSink, values: Uint8Array | Uint32Array, bits: number): void {
  const { length } = values;
  const [first = 0] = values;
  let same = 0;
  while (same < length && values[same] === first) same++;
  if (same === length) {
    sink.varint(length * 2);
    for (let at = 0; at < bits; at += 8) sink.byte(first >>> at);
    return;
  }
  const groupCount = Math.ceil(length / 8);
  sink.varint(groupCount * 2 + 1);
  let at = sink.length;
  const bytes = sink.reserve(groupCount * bits);
  bytes.fill(0, at, at + groupCount * bits);
  let held = 0;
  let heldBits = 0;
  for (let i = 0; i < length; i++) {
    held |= (values[i] ?? 0) << heldBits;
    heldBits += bits;
    while (heldBits >= 8) {
      bytes[at++] = held;
      held >>>= 8;
      heldBits -= 8;
    }
  }
  if (heldBits > 0) bytes[at] = held;
}
