// Finds the layout of data by its length and its constant bytes.
import {
  ANY_LENGTH, LAYOUT_BYTES, LAYOUT_BYTE_LENGTH, LAYOUT_DISCRIMINATOR_COUNT,
} from '../../../layout/decoding';

/** The list in a table for data without bytes. */
const NO_BYTES: u32 = 256;

/** Returns the address of the layout that fits the data, from a table of the decoder (instructions or events); 0 if no layout fits. */
export function findLayout(decoder: usize, table: usize, from: usize, to: usize): usize {
  const first = from < to ? <u32>load<u8>(from) : NO_BYTES;
  const list = decoder + load<u32>(table + (first << 2));
  const listEnd = list + 4 + (load<u32>(list) << 2);
  for (let entry = list + 4; entry < listEnd; entry += 4) {
    const layout = decoder + load<u32>(entry);
    if (matches(layout, from, <u32>(to - from))) return layout;
  }
  return 0;
}

function matches(layout: usize, from: usize, length: u32): bool {
  const wanted = load<u32>(layout, LAYOUT_BYTE_LENGTH);
  if (wanted != length && wanted != <u32>ANY_LENGTH) return false;
  const count = load<u32>(layout, LAYOUT_DISCRIMINATOR_COUNT);
  let discriminator = layout + LAYOUT_BYTES;
  for (let i: u32 = 0; i < count; i++) {
    const offset = load<u32>(discriminator);
    const byteCount = load<u32>(discriminator, 4);
    if (<u64>offset + <u64>byteCount > <u64>length) return false;
    if (!isSame(discriminator + 8, from + offset, byteCount)) return false;
    discriminator += 8 + ((byteCount + 3) & ~3);
  }
  return true;
}

// @ts-ignore: decorator
@inline
function isSame(bytes: usize, others: usize, length: u32): bool {
  if (length == 8) return load<u64>(bytes) == load<u64>(others);
  for (let i: u32 = 0; i < length; i++) if (load<u8>(bytes + i) != load<u8>(others + i)) return false;
  return true;
}
