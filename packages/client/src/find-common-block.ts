/**
 * After a 409: the newest block that both the consumer and the service hold.
 *
 *   consumer    100 ───── 117 ── 121 ── 124 ── 125          sparse: only blocks with matching records
 *   service      … 116, 117, 118, 120', 122', 123', 124'    previousBlocks, up to 100, a page at a time
 *                       └─ the common block
 *
 * Every answer is compared by number and hash. Where a page holds no block of the consumer, the next request asks for
 * the page that ends at the consumer's next older block, with a hash that no block has. Nothing is assumed: a block is
 * common only if a page names it.
 */
import type { Backlog } from './backlog.ts';
import type { BlockRef } from './block-ref.ts';
import { SluiceError } from './sluice-error.ts';

/** Base58 of 32 bytes of 0xff: the form of a hash, and the hash of no block. */
export const wrongHash = 'JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG';

/** Returns the blocks below a slot, ascending and at least one; `undefined` where the service has none to name. */
export type ReadPage = (fromBlock: number) => Promise<readonly BlockRef[] | undefined>;

export async function findCommonBlock(
  backlog: Backlog,
  firstPage: readonly BlockRef[],
  readPage: ReadPage,
): Promise<BlockRef> {
  const { blocks, from } = backlog;
  let page = firstPage;
  for (let left = blocks.length; ; ) {
    const lowest = (page[0] as BlockRef).number;
    for (; left > 0; left--) {
      const known = blocks[left - 1];
      if (known === undefined || known.number < lowest) break;
      if (page.some(({ number, hash }) => number === known.number && hash === known.hash))
        return known;
    }
    if (left === 0 && from !== undefined && lowest < from) return requireBelow(backlog, page, from);
    // The slot above the newest block that could still be common, but never above what the last page has shown.
    const below = blocks[left - 1];
    const slot = below === undefined ? from : below.number + 1;
    const next = slot === undefined ? undefined : await readPage(Math.min(slot, lowest));
    if (next === undefined) throw noCommonBlock(backlog);
    page = next;
  }
}

/**
 * A consumer that holds everything since the stream began holds nothing below, so the block that precedes the beginning
 * is common, unless the query says which one that must be.
 */
function requireBelow(backlog: Backlog, page: readonly BlockRef[], from: number): BlockRef {
  const below = page.findLast(({ number }) => number < from);
  const { parentHash } = backlog;
  if (below !== undefined && (parentHash === undefined || parentHash === below.hash)) return below;
  throw noCommonBlock(backlog);
}

function noCommonBlock({ blocks }: Backlog): SluiceError {
  const [oldest] = blocks;
  const newest = blocks.at(-1);
  const detail =
    oldest === undefined || newest === undefined
      ? 'the query has a parentBlockHash that is not on the chain'
      : `known are ${blocks.length} blocks from ${oldest.number} to ${newest.number}`;
  return new SluiceError('no-common-block', { detail });
}
