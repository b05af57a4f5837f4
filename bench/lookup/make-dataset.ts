import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import type { Block } from '@sluice/ledger/block';
import {
  type Address,
  type Signature,
  toAddress,
  toBlockHash,
  toSignature,
  toSlot,
} from '@sluice/ledger/primitives';
import type { SealedSegment } from '@sluice/server/dist/chain/chain-snapshot.js';
import { Dataset } from '@sluice/server/dist/dataset/dataset.js';
import { makeIndexInThread } from '@sluice/server/dist/dataset/history/index-thread.js';
import { SegmentBuffer } from '@sluice/server/dist/dataset/merge/built-segment.js';
import { describeBuilt } from '@sluice/server/dist/dataset/segment-store.js';
import { createDataset } from '@sluice/server/dist/dataset/stored/create-dataset.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { nodeFs } from '@sluice/server/dist/storage/node-fs.js';
import { datasetName } from '../service/processes.ts';
import { simulatedRecords } from '../simulated-records.ts';

export interface DatasetShape {
  /** The name of the dataset; that of the other benchmarks if absent. */
  readonly name?: string;
  readonly seed: number;
  readonly segmentCount: number;
  readonly transactionsPerBlock: number;
  /** The number of blocks of each segment; 1 if absent. */
  readonly blocksPerSegment?: number;
  /** Segments below half this size are merged; 1 keeps them as they are. */
  readonly mergeBytes?: number;
  /** The number of signatures of each transaction; 12 if absent, which fills the index of a small segment like that of a large one. */
  readonly signaturesPerTransaction?: number;
  /** The number of bytes of each transaction's first log that cannot be compressed; 0 if absent. */
  readonly logBytesPerTransaction?: number;
  /** The number of accounts of each transaction that no other transaction names; 0 if absent. */
  readonly newAccountsPerTransaction?: number;
}

/** The records of these blocks repeat; their slots, hashes and signatures do not. */
const templateCount = 20;
const firstSlot = 1;
/** The number of blocks in which the rare account occurs. */
export const rareBlockCount = 10;
/** The number of segments in one commit. */
const commitCount = 256;

/** Fills a data folder with a dataset of many segments, with their lists and indexes. */
export async function makeDataset(
  folder: string,
  shape: DatasetShape,
  onProgress: (share: number) => void = () => undefined,
): Promise<void> {
  const { name = datasetName } = shape;
  const datasetFolder = join(folder, name);
  const rules = {
    genesisHash: null,
    votes: 'drop',
    metaOptional: false,
    allowMissing: [],
  } as const;
  await createDataset(datasetFolder, { name, aliases: [], ...rules }, { fs: nodeFs });
  const limits = shape.mergeBytes === undefined ? {} : { mergeBytes: shape.mergeBytes };
  const makeIndex = makeIndexInThread;
  const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => true, makeIndex };
  const dataset = await Dataset.open(
    { folder: datasetFolder, realTime: false, limits },
    dependencies,
  );
  try {
    const anchor = { number: toSlot(firstSlot - 1), hash: toBlockHash(hashText(shape.seed, -1)) };
    await dataset.commit([{ kind: 'create', anchor }]);
    mkdirSync(join(datasetFolder, 'segments'), { recursive: true });
    let segments: SealedSegment[] = [];
    let madeCount = 0;
    const commit = async () => {
      await dataset.commit([{ kind: 'append-sealed', segments }]);
      madeCount += segments.length;
      segments = [];
      await dataset.finishUpkeep();
      onProgress(madeCount / shape.segmentCount);
    };
    for (const segment of writeSegments(join(datasetFolder, 'segments'), shape))
      if (segments.push(segment) === commitCount) await commit();
    if (segments.length > 0) await commit();
  } finally {
    await dataset.close();
  }
}

function* writeSegments(folder: string, shape: DatasetShape): Generator<SealedSegment> {
  const { seed, segmentCount, transactionsPerBlock, blocksPerSegment = 1 } = shape;
  const blockCount = segmentCount * blocksPerSegment;
  const rareBefore = (at: number) => Math.floor((at * rareBlockCount) / blockCount);
  const range = { firstSlot: 1_000, blockCount: templateCount };
  const records = [...simulatedRecords({ seed, transactionsPerBlock }, range)];
  const templates = records.filter(({ transactions }) => transactions.length > 0);
  for (let number = 0; number < segmentCount; number++) {
    const blocks = Array.from({ length: blocksPerSegment }, (_, i) => {
      const at = number * blocksPerSegment + i;
      const block = derive(templates[at % templates.length] as Block, shape, at);
      return rareBefore(at + 1) > rareBefore(at) ? withRareAccount(block, seed) : block;
    });
    const buffer = new SegmentBuffer();
    buffer.append(buildSegment(blocks));
    const built = buffer.finish();
    const segment = describeBuilt(
      built,
      blocks.map(({ header }) => header),
    );
    // Not synchronized: the data need not survive a crash of the machine.
    writeFileSync(join(folder, segment.id), Buffer.concat(built.parts));
    yield segment;
  }
}

/** Returns the logs with bytes at the end of each transaction's first one that cannot be compressed. */
function withNoise(logs: Block['logs'], byteLength: number, seed: string): Block['logs'] {
  if (byteLength === 0) return logs;
  return logs.map((log, i) => {
    if (log.transactionIndex === logs[i - 1]?.transactionIndex) return log;
    const noise = createHash('shake256', { outputLength: byteLength }).update(`${seed} ${i}`);
    return { ...log, message: `${log.message} ${noise.digest('base64')}` };
  });
}

function derive(block: Block, shape: DatasetShape, number: number): Block {
  const { seed, signaturesPerTransaction = 12, newAccountsPerTransaction = 0 } = shape;
  const logs = withNoise(block.logs, shape.logBytesPerTransaction ?? 0, `log ${seed} ${number}`);
  return {
    ...block,
    logs,
    header: {
      ...block.header,
      number: toSlot(firstSlot + number),
      parentSlot: toSlot(firstSlot + number - 1),
      hash: toBlockHash(hashText(seed, number)),
      parentHash: toBlockHash(hashText(seed, number - 1)),
      height: number,
    },
    transactions: block.transactions.map((transaction, index) => ({
      ...transaction,
      signatures: Array.from({ length: signaturesPerTransaction }, (_, i) =>
        signatureOf(seed, number, index * signaturesPerTransaction + i),
      ),
      accountKeys: [
        ...transaction.accountKeys,
        ...Array.from({ length: newAccountsPerTransaction }, (_, i) =>
          toAddress(
            createHash('sha256').update(`account ${seed} ${number} ${index} ${i}`).digest(),
          ),
        ),
      ],
    })),
  };
}

/** Returns an account that few blocks have. */
export function rareAccount(seed: number): Address {
  return toAddress(createHash('sha256').update(`rare ${seed}`).digest());
}

function withRareAccount(block: Block, seed: number): Block {
  const [transaction, ...others] = block.transactions;
  if (transaction === undefined) return block;
  const accountKeys = [...transaction.accountKeys, rareAccount(seed)];
  return { ...block, transactions: [{ ...transaction, accountKeys }, ...others] };
}

function hashText(seed: number, number: number): string {
  return encodeBase58(createHash('sha256').update(`block ${seed} ${number}`).digest());
}

/** Returns a signature by the number of its block and its index in the block. */
export function signatureOf(seed: number, number: number, index: number): Signature {
  return toSignature(createHash('sha512').update(`signature ${seed} ${number} ${index}`).digest());
}
