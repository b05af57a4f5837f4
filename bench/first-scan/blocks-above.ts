/**
 * Empty blocks above the measured ones. The service evaluates the newest slots once for all clients with the same query and caches the
 * lines. With these blocks the measured ones are below the newest slots, as history usually is.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { encodeBase58 } from '@sluice/base/base58';
import { STREAM_LIMITS } from '@sluice/server/dist/stream/stream-limits.js';
import type { BlockLine } from '@sluice/source/files/read-block-lines';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';

const blockCount = STREAM_LIMITS.sharedSlotCountMax + 16;

/** Writes a file of empty blocks that follow a block. */
export async function writeBlocksAbove(path: string, { slot, bytes }: BlockLine): Promise<void> {
  const { header } = normalizeBlock(slot, bytes).block;
  const seconds = Number(header.timestamp ?? 0);
  let previousBlockhash: string = header.hash;
  const lines: string[] = [];
  for (let above = 1; above <= blockCount; above++) {
    const blockhash = encodeBase58(createHash('sha256').update(previousBlockhash).digest());
    const block = {
      ...{ blockhash, previousBlockhash, parentSlot: slot + above - 1 },
      ...{ blockTime: seconds, blockHeight: (header.height ?? 0) + above },
      ...{ rewards: [], transactions: [] },
    };
    lines.push(`${JSON.stringify({ slot: slot + above, block })}\n`);
    previousBlockhash = blockhash;
  }
  await writeFile(path, lines);
}
