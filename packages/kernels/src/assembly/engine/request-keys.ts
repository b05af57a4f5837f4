// Finds the keys that selected records need and whose texts are not in memory, and copies them there once the host has read them.
import { BLOCK_KEYS_SHIFT, GROUP_KEYS, GROUP_KEY_STARTS, GROUP_MARKS } from '../../layout/selection';
import { KEY_TEXT_BYTES } from '../../layout/writing';
import { copyKeys } from '../common/texts';
import { loadInt } from './columns';
import { group, startOf } from './select';

/** The entry of a key whose text a query needs, until the text is in memory. */
const REQUESTED: u32 = 1;

// @ts-ignore: decorator
@inline
function request(id: u32, keyTable: usize, out: usize): usize {
  const at = keyTable + (id << 2);
  if (load<u32>(at) != 0) return out;
  store<u32>(at, REQUESTED);
  store<u32>(out, id);
  return out + 4;
}

/** Requests the keys of marked transactions whose text is not in memory, and writes their ids to `out`. Returns the end of the list. */
export function requestKeys(transactionCount: u32, keyTable: usize, out: usize): usize {
  const marks: usize = load<u32>(group, GROUP_MARKS);
  const keys: usize = load<u32>(group, GROUP_KEYS);
  for (let transaction: u32 = 0; transaction < transactionCount; transaction++) {
    if (load<u8>(marks + transaction) == 0) continue;
    const end = startOf(GROUP_KEY_STARTS, transaction + 1);
    for (let i = startOf(GROUP_KEY_STARTS, transaction); i < end; i++) out = request(load<u32>(keys + (i << 2)), keyTable, out);
  }
  return out;
}

/** As `requestKeys`, for the keys of flagged rewards. */
export function requestRewardKeys(keys: usize, width: u32, rewardCount: u32, flags: usize, keyTable: usize, out: usize): usize {
  for (let row: u32 = 0; row < rewardCount; row++) {
    if (load<u8>(flags + row) != 0) out = request(loadInt(keys, width, row), keyTable, out);
  }
  return out;
}

/** Copies requested keys to `out`, one after another. `keys` are the stored keys from `firstId` on. */
export function copyListedKeys(ids: usize, count: u32, keys: usize, firstId: u32, keyTable: usize, out: usize): void {
  for (let i: u32 = 0; i < count; i++, out += KEY_TEXT_BYTES) {
    const id = load<u32>(ids + (i << 2));
    store<u32>(keyTable + (id << 2), <u32>out);
    copyKeys(keys + ((id - firstId) << 5), 1, out);
  }
}

/**
 * Copies to `out` those requested keys whose block is in memory. `blocks` has the address of every block of keys, or 0. Returns how many
 * keys are left; their ids are moved to the front of the list.
 */
export function copyKeysFromBlocks(ids: usize, count: u32, blocks: usize, keyTable: usize, out: usize): u32 {
  let left: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const id = load<u32>(ids + (i << 2));
    const block: usize = load<u32>(blocks + ((id >> BLOCK_KEYS_SHIFT) << 2));
    if (block == 0) {
      store<u32>(ids + (left++ << 2), id);
      continue;
    }
    store<u32>(keyTable + (id << 2), <u32>out);
    copyKeys(block + ((id & ((1 << BLOCK_KEYS_SHIFT) - 1)) << 5), 1, out);
    out += KEY_TEXT_BYTES;
  }
  return left;
}

/** Adds the number of keys in each block to its entry of `counts`. */
export function countByBlock(ids: usize, count: u32, counts: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = counts + ((load<u32>(ids + (i << 2)) >> BLOCK_KEYS_SHIFT) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
}

/** Cancels all requests. */
export function cancelRequests(keyTable: usize, count: u32): void {
  for (let at = keyTable; at < keyTable + (count << 2); at += 4) if (load<u32>(at) == REQUESTED) store<u32>(at, 0);
}
