import type { DecodedValue } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { clientOf } from '../../state/clients.ts';
import { keyVersion } from '../../state/connection.ts';
import type { CallPosition } from '../../state/page-path.ts';

export interface LiveCall extends CallPosition {
  readonly slot: number;
  readonly decoded: DecodedValue;
}

export interface LiveCalls {
  /** The newest call first. */
  readonly calls: readonly LiveCall[];
  readonly error: unknown;
}

/** Older calls are dropped from the page. */
const callCountMax = 50;
/** The number of blocks below the head in which the first calls are searched. */
const firstBlockCount = 20;

const none: LiveCalls = { calls: [], error: undefined };

/** Follows the calls of a program. A fork removes the calls of the blocks that it replaces. */
export function useLiveCalls(dataset: string, programId: string | undefined): LiveCalls {
  const [state, setState] = useState(none);
  const version = keyVersion.value;
  useEffect(() => {
    setState(none);
    if (programId === undefined) return;
    const stop = new AbortController();
    const update = (change: (calls: readonly LiveCall[]) => readonly LiveCall[]) =>
      setState(({ calls }) => ({ calls: change(calls), error: undefined }));
    follow({ dataset, programId }, stop.signal, update).catch((error: unknown) => {
      if (!stop.signal.aborted) setState(({ calls }) => ({ calls, error }));
    });
    return () => stop.abort();
  }, [dataset, programId, version]);
  return state;
}

async function follow(
  { dataset, programId }: { readonly dataset: string; readonly programId: string },
  signal: AbortSignal,
  update: (change: (calls: readonly LiveCall[]) => readonly LiveCall[]) => void,
): Promise<void> {
  const client = clientOf(dataset);
  const [head, { start_block: start }] = await Promise.all([
    client.head({ signal }),
    client.metadata({ signal }),
  ]);
  const query = {
    fromBlock: Math.max(start, (head?.number ?? start) - firstBlockCount),
    fields: {
      block: { number: true, hash: true },
      instruction: { transactionIndex: true, instructionAddress: true, decoded: true },
    },
    instructions: [{ programId: [programId] }],
  } as const;
  for await (const batch of client.stream(query, { signal })) {
    if (batch.kind === 'rollback') {
      const { number: last } = batch.to;
      update((calls) => calls.filter(({ slot }) => slot <= last));
      continue;
    }
    const added = batch.blocks.flatMap(({ header, instructions }) =>
      instructions.map((call): LiveCall => ({ slot: header.number, ...call })),
    );
    if (added.length > 0) update((calls) => [...added.reverse(), ...calls].slice(0, callCountMax));
  }
}
