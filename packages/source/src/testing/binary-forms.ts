/** Blocks of the simulated ledger in every form, for tests that compare them. */

import { decodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import { type ArchiveEncoding, encodeArchive } from '@sluice/grpc/encode-archive';
import {
  encodeProtobufBlock,
  type JsonBlock,
  parseJsonBlock,
} from '@sluice/grpc/encode-json-block';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import type { ContentInput } from '../../../simulator/src/content/content-options.ts';
import { createSimulatedLedger } from '../../../simulator/src/start-simulated-node.ts';
import { parentHashBytes } from '../archive/read-archive-block.ts';

export interface BlockForms {
  readonly slot: Slot;
  readonly block: JsonBlock;
  /** The result of `getBlock`. */
  readonly json: Uint8Array;
  readonly protobuf: Uint8Array;
}

/** Returns linked blocks of a simulated ledger. */
export function simulatedForms(count: number, content: ContentInput, seed = 1): BlockForms[] {
  const startSlot = 1_000;
  const ledger = createSimulatedLedger(
    { paused: true, chain: { seed, startSlot, skipRate: 0.2, forkRate: 0 }, content },
    { clock: systemClock },
  );
  const forms: BlockForms[] = [];
  for (let slot = startSlot; forms.length < count; slot++) {
    const chainBlock = ledger.chain.blockAt(slot);
    if (chainBlock === undefined) continue;
    const rendered = ledger.render(chainBlock, { transactionDetails: 'full', rewards: true });
    const json = Uint8Array.from(Buffer.from(rendered.json));
    const block = parseJsonBlock(json);
    forms.push({ slot: toSlot(slot), block, json, protobuf: encodeProtobufBlock(block) });
  }
  return forms;
}

/** Returns the bytes of a block as the reader of archives takes them. */
export function archiveBytes(
  slot: number,
  block: JsonBlock,
  encoding: ArchiveEncoding = {},
): Uint8Array {
  const { bytes, ranges } = encodeArchive([{ slot, block }], encoding);
  const { offset, length } = ranges[0] ?? { offset: 0, length: 0 };
  const hash = decodeBase58(block.previousBlockhash) ?? new Uint8Array(parentHashBytes);
  return new Uint8Array(Buffer.concat([hash, bytes.subarray(offset, offset + length)]));
}
