// Copies texts, and the texts of keys.
import { keyText } from '../common/texts';
import { keyTable } from './write-context';

/** Whether a record was not completed because the text of a key is not in memory. The host loads the key and writes the record again. */
let isKeyMissing: bool = false;

export function takeKeyMissing(): bool {
  const isMissing = isKeyMissing;
  isKeyMissing = false;
  return isMissing;
}

/** Returns whether the text of a key was missing. */
export function hasMissingText(): bool {
  return isKeyMissing;
}

// @ts-ignore: decorator
@inline
export function copyText(from: usize, length: u32, out: usize): usize {
  v128.store(out, v128.load(from));
  for (let copied: u32 = 16; copied < length; copied += 16) v128.store(out + copied, v128.load(from + copied));
  return out + length;
}

/** Returns the address of the text of a key, or 0 if it is missing. Its length is in its last byte. */
export function keyTextOf(id: u32): usize {
  const text: usize = load<u32>(keyTable + (id << 2));
  if (text == 0) isKeyMissing = true;
  else keyText(text);
  return text;
}

// @ts-ignore: decorator
@inline
export function writeKeyId(id: u32, out: usize): usize {
  const text: usize = load<u32>(keyTable + (id << 2));
  if (text == 0) {
    isKeyMissing = true;
    return out;
  }
  const length = keyText(text);
  v128.store(out, v128.load(text));
  v128.store(out, v128.load(text, 16), 16);
  v128.store(out, v128.load(text, 32), 32);
  return out + length;
}
