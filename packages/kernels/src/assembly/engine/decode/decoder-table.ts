// The hash table from the id of a program's key to its decoder, and what the kernel needs from the host.
import {
  DECODER_ENTRY_BYTES, DECODER_ENTRY_COUNT, DECODING_DECODERS, DECODING_NEED, DECODING_NEEDED, DECODING_TRANSACTION, NEED_DECODER,
} from '../../../layout/decoding';
import { block } from '../write-context';

/** Asks the host for the decoder of a program, or for the text of a row. */
export function need(table: usize, kind: u32, needed: u32, transaction: u32): void {
  store<u32>(table, kind, DECODING_NEED);
  store<u32>(table, needed, DECODING_NEEDED);
  store<u32>(table, transaction, DECODING_TRANSACTION);
}

/** Returns the entry of a key, or the free one where it belongs. */
// @ts-ignore: decorator
@inline
function entryOf(table: usize, id: u32): usize {
  let index = (id * 0x9e3779b1) >> 16;
  while (true) {
    const entry = table + DECODING_DECODERS + (index % DECODER_ENTRY_COUNT) * DECODER_ENTRY_BYTES;
    const known = load<u32>(entry);
    if (known == 0 || known == id + 1) return entry;
    index++;
  }
}

/** The decoder holds up to the block before `blockEnd`. There is always a free entry. */
export function setDecoder(table: usize, id: u32, blockEnd: u32, decoder: usize): void {
  const entry = entryOf(table, id);
  store<u32>(entry, id + 1);
  store<u32>(entry, blockEnd, 4);
  store<u32>(entry, <u32>decoder, 8);
}

/** Returns the decoder of a program, or 0 if the host has to find it first. */
export function decoderOf(table: usize, id: u32): usize {
  const entry = entryOf(table, id);
  if (load<u32>(entry) != 0 && block < load<u32>(entry, 4)) return load<u32>(entry, 8);
  need(table, NEED_DECODER, id, 0);
  return 0;
}
