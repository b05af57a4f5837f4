// A cache of base58 texts of long instruction data, which often repeats. The time of base58 grows with the square of the length.
import { BASE58_FAST_BYTES_MAX, base58Encode } from '../common/base58';
import { checksum } from '../common/checksum';

/** Encoding shorter data is faster than looking it up. */
const LENGTH_MIN: u32 = 64;
const ENTRY_COUNT: u32 = 256;
/** An entry: length of the data · length of the text · data · text. Base58 takes at most 11 characters for 8 bytes. */
const DATA: u32 = 8;
const TEXT: u32 = DATA + BASE58_FAST_BYTES_MAX;
const ENTRY_BYTES: u32 = TEXT + (BASE58_FAST_BYTES_MAX * 11) / 8 + 24;

export const DATA_TEXTS_BYTES: u32 = ENTRY_COUNT * ENTRY_BYTES;

let entries: usize = 0;

/** `at` is zeroed memory of DATA_TEXTS_BYTES. */
export function setDataTexts(at: usize): void {
  entries = at;
}

/** Writes the text of an instruction's data at `out`. Returns the end of the text. */
export function writeDataText(bytes: usize, length: u32, out: usize): usize {
  if (length < LENGTH_MIN || length > BASE58_FAST_BYTES_MAX) return length == 0 ? out : base58Encode(bytes, length, out);
  const entry = entries + (checksum(bytes, length) % ENTRY_COUNT) * ENTRY_BYTES;
  if (load<u32>(entry) != length || memory.compare(entry + DATA, bytes, length) != 0) {
    memory.copy(entry + DATA, bytes, length);
    store<u32>(entry, length);
    store<u32>(entry, <u32>(base58Encode(bytes, length, entry + TEXT) - entry - TEXT), 4);
  }
  const textLength = load<u32>(entry, 4);
  memory.copy(out, entry + TEXT, textLength);
  return out + textLength;
}
