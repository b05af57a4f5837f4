import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { type BlockHash, parseBlockHash, toBlockHash, toSlot } from '@sluice/ledger/primitives';
import type { HotBlock, SealedSegment } from '../chain-snapshot.ts';
import type { ReadList } from '../segment-lists.ts';

export const slot = toSlot;

/** Returns a block hash that encodes a short name such as `a7`. A text that is a hash already is returned unchanged. */
export function hash(name: string): BlockHash {
  const known = parseBlockHash(name);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(32);
  bytes.set(new TextEncoder().encode(name));
  return toBlockHash(encodeBase58(bytes));
}

/** Returns the short name that a hash was made from. */
export function nameOf(blockHash: string): string {
  return new TextDecoder().decode(decodeBase58(blockHash)).replace(/\0+$/, '');
}

/** Returns a header of the chain named `branch`, whose hash encodes branch and slot: `a7` for slot 7. */
export function makeHeader(
  branch: string,
  number: number,
  parent: { number: number; hash: string; height: number | null } | null,
): BlockHeader {
  return {
    number: slot(number),
    hash: hash(`${branch}${number}`),
    parentSlot: slot(parent?.number ?? 0),
    parentHash: parent === null ? null : hash(parent.hash),
    height: parent === null ? 0 : parent.height === null ? null : parent.height + 1,
    timestamp: BigInt(1_600_000_000 + number),
  };
}

export function ref(name: string): BlockRef {
  return { number: slot(Number(name.replace(/^\D+/, ''))), hash: hash(name) };
}

/** Returns a linked run of hot blocks at these slots, on top of `parent`. */
export function makeRun(
  branch: string,
  slots: readonly number[],
  parent: { number: number; hash: string; height: number | null } | null,
): HotBlock[] {
  const run: HotBlock[] = [];
  let below = parent;
  for (const number of slots) {
    const header = makeHeader(branch, number, below);
    run.push({ header, payload: number });
    below = header;
  }
  return run;
}

export function sealRun(run: readonly { readonly header: BlockHeader }[]): SealedSegment {
  const first = (run[0] as HotBlock).header;
  const last = (run.at(-1) as HotBlock).header;
  const times = run.map(({ header }) => header.timestamp).filter((time) => time !== null);
  return {
    id: `${first.number}-${last.number}-${last.hash}`,
    first: { number: first.number, hash: first.hash },
    last: { number: last.number, hash: last.hash },
    parentSlot: first.parentSlot,
    parentHash: first.parentHash,
    lastHeight: last.height,
    blockCount: run.length,
    byteLength: run.length,
    timestampMax: times.reduce<bigint | null>((a, b) => (a === null || b > a ? b : a), null),
  };
}

/** Reads lists of chains that have none. */
export const noLists: ReadList = () => Promise.reject(new Error('this chain has no lists'));
