// A cache of the base58 texts of addresses in data. Programs use the same addresses again and again.
import { base58Encode } from '../../common/base58';

const ENTRY_COUNT: u32 = 4096;
/** An entry: the 32 bytes of the key · its quoted text of at most 46 bytes, with its length in the last byte. */
const TEXT: u32 = 32;
const LENGTH: u32 = 79;
const ENTRY_BYTES: u32 = 80;

export const KEY_CACHE_BYTES: u32 = ENTRY_COUNT * ENTRY_BYTES;

let entries: usize = 0;

/** `at` is zeroed memory of KEY_CACHE_BYTES. */
export function setKeyCache(at: usize): void {
  entries = at;
}

/** Writes the quoted text of the 32 bytes of an address. May write up to 48 bytes. */
export function writeKeyBytes(key: usize, out: usize): usize {
  const hash = (load<u64>(key) ^ load<u64>(key, 24)) * 0x9e3779b97f4a7c15;
  const entry = entries + <u32>(hash >> 52) * ENTRY_BYTES;
  const isSame = v128.and(i8x16.eq(v128.load(key), v128.load(entry)), i8x16.eq(v128.load(key, 16), v128.load(entry, 16)));
  if (!i8x16.all_true(isSame) || load<u8>(entry, LENGTH) == 0) fill(entry, key);
  v128.store(out, v128.load(entry, TEXT));
  v128.store(out, v128.load(entry, TEXT + 16), 16);
  v128.store(out, v128.load(entry, TEXT + 32), 32);
  return out + load<u8>(entry, LENGTH);
}

function fill(entry: usize, key: usize): void {
  v128.store(entry, v128.load(key));
  v128.store(entry, v128.load(key, 16), 16);
  store<u8>(entry, 0x22, TEXT);
  const end = base58Encode(entry, 32, entry + TEXT + 1);
  store<u8>(end, 0x22);
  store<u8>(entry, <u8>(end + 1 - entry - TEXT), LENGTH);
}
