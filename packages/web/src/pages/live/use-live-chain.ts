import { useEffect, useState } from 'preact/hooks';
import { clientOf } from '../../state/clients.ts';
import { keyVersion } from '../../state/connection.ts';
import {
  appendBlocks,
  emptyChain,
  type LiveBlock,
  type LiveChain,
  rollBack,
} from './live-chain.ts';

/** The number of blocks below the head that are loaded first. */
const firstBlockCount = 80;

export interface LiveState {
  readonly chain: LiveChain;
  readonly error: unknown;
}

/** Follows the ledger. The client resumes by itself after a lost connection, and delivers forks as rollbacks. */
export function useLiveChain(dataset: string): LiveState {
  const [state, setState] = useState<LiveState>({ chain: emptyChain, error: undefined });
  const version = keyVersion.value;
  // A new key restarts the stream.
  useEffect(() => {
    const stop = new AbortController();
    setState({ chain: emptyChain, error: undefined });
    const update = (change: (chain: LiveChain) => LiveChain) =>
      setState(({ chain }) => ({ chain: change(chain), error: undefined }));
    follow(dataset, stop.signal, update).catch((error: unknown) => {
      if (!stop.signal.aborted) setState(({ chain }) => ({ chain, error }));
    });
    return () => stop.abort();
  }, [dataset, version]);
  return state;
}

async function follow(
  dataset: string,
  signal: AbortSignal,
  update: (change: (chain: LiveChain) => LiveChain) => void,
): Promise<void> {
  const client = clientOf(dataset);
  const [head, { start_block: start }] = await Promise.all([
    client.head({ signal }),
    client.metadata({ signal }),
  ]);
  const query = {
    fromBlock: Math.max(start, (head?.number ?? start) - firstBlockCount),
    includeAllBlocks: true,
    fields: {
      block: {
        number: true,
        hash: true,
        parentSlot: true,
        parentHash: true,
        timestamp: true,
        recordCounts: true,
      },
    },
  } as const;
  for await (const batch of client.stream(query, { signal })) {
    const finalized = batch.finalizedHead?.number ?? null;
    if (batch.kind === 'rollback') {
      update((chain) => rollBack(chain, batch.to.number));
      continue;
    }
    const blocks = batch.blocks.map(
      ({ header }): LiveBlock => ({
        number: header.number,
        hash: header.hash,
        parentSlot: header.parentSlot,
        parentHash: header.parentHash,
        timestamp: header.timestamp,
        transactionCount: header.recordCounts.transactions,
        isOrphaned: false,
      }),
    );
    update((chain) => appendBlocks(chain, blocks, finalized));
  }
}
