import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import type { SealedSegment } from '@sluice/server/dist/chain/chain-snapshot.js';
import { Dataset } from '@sluice/server/dist/dataset/dataset.js';
import { SegmentBuffer } from '@sluice/server/dist/dataset/merge/built-segment.js';
import { describeBuilt } from '@sluice/server/dist/dataset/segment-store.js';
import { createDataset } from '@sluice/server/dist/dataset/stored/create-dataset.js';
import type { Block } from '@sluice/server/dist/ledger/block.js';
import {
  type Signature,
  toBlockHash,
  toSignature,
  toSlot,
} from '@sluice/server/dist/ledger/primitives.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { nodeFs } from '@sluice/server/dist/storage/node-fs.js';
import { datasetName } from '../service/processes.ts';
import { simulatedRecords } from '../simulated-records.ts';

export interface DatasetShape {
  readonly seed: number;
  readonly segmentCount: number;
  readonly transactionsPerBlock: number;
}

/** The records of these blocks repeat; their slots, hashes and signatures do not. */
const templateCount = 20;
const firstSlot = 1;
/** With this number the index is as full as that of a large segment, so that as many absent signatures pass it. */
const signaturesPerTransaction = 12;

/** Fills a data folder with a dataset whose segments have one block each. */
export async function makeDataset(folder: string, shape: DatasetShape): Promise<void> {
  const own = join(folder, datasetName);
  const rules = {
    genesisHash: null,
    votes: 'drop',
    metaOptional: false,
    allowMissing: [],
  } as const;
  await createDataset(own, { name: datasetName, aliases: [], ...rules }, { fs: nodeFs });
  const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => true };
  const dataset = await Dataset.open({ folder: own, realTime: false }, dependencies);
  try {
    const anchor = { number: toSlot(firstSlot - 1), hash: toBlockHash(hashText(shape.seed, -1)) };
    await dataset.commit([{ kind: 'create', anchor }]);
    mkdirSync(join(own, 'segments'), { recursive: true });
    const segments = [...writeSegments(join(own, 'segments'), shape)];
    await dataset.commit([{ kind: 'append-sealed', segments }]);
  } finally {
    await dataset.close();
  }
}

function* writeSegments(folder: string, shape: DatasetShape): Generator<SealedSegment> {
  const { seed, segmentCount, transactionsPerBlock } = shape;
  const range = { firstSlot: 1_000, blockCount: templateCount };
  const templates = [...simulatedRecords({ seed, transactionsPerBlock }, range)];
  for (let number = 0; number < segmentCount; number++) {
    const block = derive(templates[number % templateCount] as Block, seed, number);
    const buffer = new SegmentBuffer();
    buffer.append(buildSegment([block]));
    const built = buffer.finish();
    const segment = describeBuilt(built, [block.header]);
    // Not synchronized: the data need not survive a crash of the machine.
    writeFileSync(join(folder, segment.id), Buffer.concat(built.parts));
    yield segment;
  }
}

function derive(block: Block, seed: number, number: number): Block {
  return {
    ...block,
    header: {
      ...block.header,
      number: toSlot(firstSlot + number),
      parentSlot: toSlot(firstSlot + number - 1),
      hash: toBlockHash(hashText(seed, number)),
      parentHash: toBlockHash(hashText(seed, number - 1)),
      height: number,
    },
    transactions: block.transactions.map((transaction, place) => ({
      ...transaction,
      signatures: Array.from({ length: signaturesPerTransaction }, (_, i) =>
        signatureOf(seed, number, place * signaturesPerTransaction + i),
      ),
    })),
  };
}

function hashText(seed: number, number: number): string {
  return encodeBase58(createHash('sha256').update(`block ${seed} ${number}`).digest());
}

/** Returns a signature by the number of its segment and its place in the block. */
export function signatureOf(seed: number, number: number, place: number): Signature {
  return toSignature(createHash('sha512').update(`signature ${seed} ${number} ${place}`).digest());
}
