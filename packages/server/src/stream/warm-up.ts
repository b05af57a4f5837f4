/**
 * Runs typical queries over stored blocks soon after the start of a process. The JavaScript engine compiles the code of queries only after it
 * has run for a while: without this, the first queries of clients would take several times as long.
 */

import { decodeBase58 } from '@sluice/base/base58';
import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { isCodedError } from '@sluice/base/errors';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { EnginePool } from '../engine/threads/engine-pool.ts';
import { parseQueryBody } from '../query/parse-query.ts';
import type { Query, Selection } from '../query/query.ts';
import type { DatasetStreams } from './dataset-streams.ts';
import type { LinePiece } from './line-piece.ts';
import type { DatasetLookups } from './lookups/dataset-lookups.ts';

export interface WarmUpDataset {
  readonly reader: Pick<DatasetReader, 'acquire' | 'remoteSegment' | 'segmentPath' | 'snapshot'>;
  readonly streams: Pick<DatasetStreams, 'open'>;
  readonly lookups: Pick<DatasetLookups, 'transaction'>;
}

/** The queries of the warm-up may take this long together. */
const workMsMax = 4_000;
/** The warm-up ends this long after its start. */
const warmUpMsMax = 30_000;
/** The warm-up pauses while clients have queries, and this long after the last one, because another one often follows at once. */
const quietMsMin = 1_000;
const pauseMs = 100;
/**
 * A scan opens each segment once, so the code that opens segments would be compiled late. The warm-up therefore first opens the newest
 * segment this many times, and each time reads a few blocks, as for the first line of a client.
 */
const openingCount = 160;
const openingSlotCount = 4;
/** Then each segment is read once by each query, so that reading and decoding are compiled too, not only the use of the cache. */
const segmentCountMax = 24;
/** Then this many of its transactions are looked up by their signatures. */
const lookupCountMax = 16;

const fields = {
  block: { number: true, hash: true, parentNumber: true, timestamp: true },
  transaction: {
    transactionIndex: true,
    signatures: true,
    err: true,
    fee: true,
    feePayer: true,
    accountKeys: true,
  },
  instruction: {
    transactionIndex: true,
    instructionAddress: true,
    programId: true,
    accounts: true,
    data: true,
    isCommitted: true,
  },
  tokenBalance: {
    transactionIndex: true,
    account: true,
    preMint: true,
    postOwner: true,
    preAmount: true,
    postAmount: true,
  },
  log: { transactionIndex: true, logIndex: true, programId: true, kind: true, message: true },
  balance: { transactionIndex: true, account: true, pre: true, post: true },
};

/** A program and a mint that every ledger of this kind has. */
const programId = ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'];
const postMint = ['So11111111111111111111111111111111111111112'];
const related = { transaction: true, innerInstructions: true };

const queries = [
  { fields, instructions: [{ programId, d1: ['0x07'], ...related }] },
  {
    fields,
    instructions: [
      {
        programId,
        d1: ['0x09'],
        ...related,
        transactionTokenBalances: true,
        transactionBalances: true,
        logs: true,
      },
    ],
  },
  { fields, tokenBalances: [{ postMint, transaction: true }] },
  { fields, includeAllBlocks: true },
];

export interface WarmUpDependencies {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pool: Pick<EnginePool, 'isIdle' | 'requestCount' | 'open' | 'run' | 'close'>;
}

export async function warmUp(
  datasets: readonly WarmUpDataset[],
  dependencies: WarmUpDependencies,
): Promise<void> {
  const { clock, signal, pool } = dependencies;
  const endMs = clock.nowMs() + warmUpMsMax;
  const clients = new ClientQueries(dependencies);
  let workMs = 0;
  try {
    for (const read of planAll(datasets, pool)) {
      await clients.waitForQuiet(endMs);
      const startMs = clock.nowMs();
      if (signal.aborted || startMs >= endMs || workMs >= workMsMax) return;
      await read(signal);
      clients.skipOwn();
      workMs += clock.nowMs() - startMs;
    }
  } catch (error) {
    // Clients get the error of an unreadable segment when they query it.
    if (!isCodedError(error)) throw error;
  }
}

/** Detects queries and lookups of clients by counting them. */
class ClientQueries {
  readonly #dependencies: WarmUpDependencies;
  #seenCount: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: WarmUpDependencies) {
    this.#dependencies = dependencies;
    this.#seenCount = dependencies.pool.requestCount;
  }

  async waitForQuiet(endMs: number): Promise<void> {
    const { clock, signal, pool } = this.#dependencies;
    for (;;) {
      const nowMs = clock.nowMs();
      const count = pool.requestCount;
      if (!pool.isIdle || count !== this.#seenCount) this.#lastMs = nowMs;
      this.#seenCount = count;
      if (signal.aborted || nowMs >= endMs || nowMs - this.#lastMs >= quietMsMin) return;
      await clock.sleep(pauseMs, signal);
    }
  }

  /** Ignores the requests since the last wait, which are those of the warm-up. */
  skipOwn(): void {
    this.#seenCount = this.#dependencies.pool.requestCount;
  }
}

type Read = (signal: AbortSignal) => Promise<void>;

function* planAll(
  datasets: readonly WarmUpDataset[],
  pool: WarmUpDependencies['pool'],
): Generator<Read> {
  const all = datasets.flatMap((dataset) =>
    localSegments(dataset.reader, dataset.reader.snapshot()).map((segment) => ({
      ...dataset,
      segment,
    })),
  );
  const [newest] = all;
  if (newest === undefined) return;
  const { reader } = newest;
  const selections = queries.map((query) => parse(query, newest.segment));
  for (let number = 0; number < openingCount; number++) {
    const selection = elementAt(selections, number % selections.length);
    yield (signal) => openNewest(pool, { reader, number, selection }, signal);
  }
  for (const { streams, lookups, segment } of all) {
    const signatures = new Set<string>();
    for (const [i, query] of queries.entries())
      yield (signal) =>
        readLines(streams, { query, segment, signatures, isDeflated: i % 2 === 1 }, signal);
    for (const signature of signatures) {
      const bytes = decodeBase58(signature);
      if (bytes !== undefined)
        yield async (signal) => void (await lookups.transaction(bytes, signal));
    }
  }
}

/** Returns the newest segments on this machine: reading from an object store takes long, and its operator may charge for it. */
function localSegments(
  reader: WarmUpDataset['reader'],
  { segments }: ChainSnapshot,
): SealedSegment[] {
  const newest = segments.slice(-segmentCountMax).reverse();
  const remoteAt = newest.findIndex((segment) => reader.remoteSegment?.(segment) !== undefined);
  return remoteAt < 0 ? newest : newest.slice(0, remoteAt);
}

interface Opening {
  readonly reader: WarmUpDataset['reader'];
  readonly number: number;
  readonly selection: Selection;
}

/** Opens the newest segment in one of the threads, reads its first blocks and closes it. The lease keeps its file meanwhile. */
async function openNewest(
  pool: WarmUpDependencies['pool'],
  { reader, number, selection }: Opening,
  signal: AbortSignal,
): Promise<void> {
  const lease = reader.acquire();
  try {
    const [segment] = localSegments(reader, lease.snapshot);
    if (segment === undefined) return;
    const key = `warm-up ${number}`;
    pool.open(key, { kind: 'file', path: reader.segmentPath(segment) });
    try {
      const first = segment.first.number;
      const range = { first, last: Math.min(segment.last.number, first + openingSlotCount - 1) };
      const how = { partBlocksMin: Infinity, turn: number, partCount: 1 } as const;
      for await (const piece of pool.run({ selection, range, keys: [key], ...how, signal }))
        piece.release();
    } finally {
      pool.close(key);
    }
  } finally {
    lease.release();
  }
}

function parse(query: object, { first, last }: SealedSegment): Query {
  const body = JSON.stringify({ fromBlock: first.number, toBlock: last.number, ...query });
  return parseQueryBody(body, { limits: QUERY_LIMITS, dialects: ['ledger'] });
}

interface WarmUpQuery {
  readonly query: object;
  readonly segment: SealedSegment;
  /** Receives signatures of transactions. */
  readonly signatures: Set<string>;
  readonly isDeflated: boolean;
}

async function readLines(
  streams: WarmUpDataset['streams'],
  { query, segment, signatures, isDeflated }: WarmUpQuery,
  signal: AbortSignal,
): Promise<void> {
  const parsed = parse(query, segment);
  const opened = await streams.open({ query: parsed, finalizedOnly: false, signal, isDeflated });
  if (opened.kind !== 'lines') return;
  try {
    for (;;) {
      const { done, value } = await opened.lines.next();
      if (done === true) return;
      if (!isDeflated) collectSignatures(value, signatures);
      value.release();
    }
  } finally {
    await opened.lines.close();
  }
}

function collectSignatures({ parts }: LinePiece, signatures: Set<string>): void {
  for (const part of parts) {
    if (signatures.size >= lookupCountMax) return;
    const text = Buffer.from(part.subarray(0, textBytesMax)).toString('latin1');
    for (const [, signature = ''] of text.matchAll(/"signatures":\["(\w+)"/g))
      if (signatures.size < lookupCountMax) signatures.add(signature);
  }
}

/** Enough for some transactions. */
const textBytesMax = 1 << 16;
