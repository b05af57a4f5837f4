/**
 * Typical queries over stored blocks soon after the start of a process. The JavaScript engine compiles the code of queries only after it
 * has run for a while: without this, the first queries of clients would take several times as long.
 */
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import type { Clock } from '../base/clock.ts';
import { isCodedError } from '../base/errors.ts';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { parseQueryBody } from '../query/parse-query.ts';
import type { DatasetStreams } from './dataset-streams.ts';

export interface WarmUpDataset {
  readonly reader: Pick<DatasetReader, 'snapshot' | 'remoteSegment'>;
  readonly streams: Pick<DatasetStreams, 'open'>;
}

/** The queries of the warm-up may take this long together. */
const workMsMax = 4_000;
/** The warm-up ends this long after its start. */
const warmUpMsMax = 30_000;
/** The warm-up pauses while clients have queries, and this long after the last one, because another one often follows at once. */
const quietMsMin = 1_000;
const pauseMs = 100;
/** Each segment is read once by each query, so that reading and decoding are compiled too, not only the use of the cache. */
const segmentCountMax = 24;

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

export interface WarmUpModules {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether no query runs. */
  readonly isIdle: () => boolean;
  /** The number of scans of history that have started, by clients or by the warm-up. */
  readonly scanCount: () => number;
}

export async function warmUp(
  datasets: readonly WarmUpDataset[],
  modules: WarmUpModules,
): Promise<void> {
  const { clock, signal } = modules;
  const endMs = clock.nowMs() + warmUpMsMax;
  const clients = new ClientQueries(modules);
  let workMs = 0;
  try {
    for (const { streams, query, segment, isDeflated } of planReads(datasets)) {
      await clients.waitForQuiet(endMs);
      const startMs = clock.nowMs();
      if (signal.aborted || startMs >= endMs || workMs >= workMsMax) return;
      await readLines(streams, { query, segment, isDeflated }, signal);
      clients.skipOwn();
      workMs += clock.nowMs() - startMs;
    }
  } catch (error) {
    // Clients get the error of an unreadable segment when they query it.
    if (!isCodedError(error)) throw error;
  }
}

/** Notices the queries of clients by the number of scans. */
class ClientQueries {
  readonly #modules: WarmUpModules;
  #seenCount: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(modules: WarmUpModules) {
    this.#modules = modules;
    this.#seenCount = modules.scanCount();
  }

  async waitForQuiet(endMs: number): Promise<void> {
    const { clock, signal, isIdle, scanCount } = this.#modules;
    for (;;) {
      const nowMs = clock.nowMs();
      const count = scanCount();
      if (!isIdle() || count !== this.#seenCount) this.#lastMs = nowMs;
      this.#seenCount = count;
      if (signal.aborted || nowMs >= endMs || nowMs - this.#lastMs >= quietMsMin) return;
      await clock.sleep(pauseMs, signal);
    }
  }

  /** Ignores the scans since the last wait, which are those of the warm-up. */
  skipOwn(): void {
    this.#seenCount = this.#modules.scanCount();
  }
}

function* planReads(datasets: readonly WarmUpDataset[]) {
  for (const { reader, streams } of datasets) {
    for (const segment of reader.snapshot().segments.slice(-segmentCountMax).reverse()) {
      // Reading from an object store takes long, and its operator may charge for it.
      if (reader.remoteSegment?.(segment) !== undefined) break;
      for (const [i, query] of queries.entries())
        yield { streams, query, segment, isDeflated: i % 2 === 1 };
    }
  }
}

interface WarmUpQuery {
  readonly query: object;
  readonly segment: SealedSegment;
  readonly isDeflated: boolean;
}

async function readLines(
  streams: WarmUpDataset['streams'],
  { query, segment: { first, last }, isDeflated }: WarmUpQuery,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ fromBlock: first.number, toBlock: last.number, ...query });
  const parsed = parseQueryBody(body, { limits: QUERY_LIMITS, dialects: ['ledger'] });
  const opened = await streams.open({ query: parsed, finalizedOnly: false, signal, isDeflated });
  if (opened.kind !== 'lines') return;
  try {
    for (;;) {
      const { done, value } = await opened.lines.next();
      if (done === true) return;
      value.release();
    }
  } finally {
    await opened.lines.close();
  }
}
