/**
 * After a 409: finds the newest block that both the consumer and the service have.
 *
 *   consumer    100 ───── 117 ── 121 ── 124 ── 125          sparse: only blocks with matching records
 *   service      … 116, 117, 118, 120', 122', 123', 124'    previousBlocks, up to 100, a page at a time
 *                       └─ the common block
 *
 * Every response is compared by number and hash. If a page has no block of the consumer, the next request asks for the page that ends at
 * the consumer's next older block, with a hash that no block has. A block is common only if a page contains it.
 */

import type { BlockRef } from '../base/block-ref.ts';
import { SluiceError } from '../base/sluice-error.ts';
import type { Backlog } from './backlog.ts';

/** Base58 of 32 bytes of 0xff: it has the form of a hash, but no block has it. */
export const wrongHash = 'JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG';

/** Returns the blocks below a slot in ascending order, at least one; `undefined` if the service returns none. */
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
    // The slot above the newest block that could still be common, but not above the last page.
    const below = blocks[left - 1];
    const slot = below === undefined ? from : below.number + 1;
    const next = slot === undefined ? undefined : await readPage(Math.min(slot, lowest));
    if (next === undefined) throw noCommonBlock(backlog);
    page = next;
  }
}

/**
 * A consumer that has everything since the start of the stream has nothing below it. So the block before the start is common, unless the
 * query gives its hash.
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
      : `the cursor has ${blocks.length} blocks from ${oldest.number} to ${newest.number}`;
  return new SluiceError('no-common-block', { detail });
}
