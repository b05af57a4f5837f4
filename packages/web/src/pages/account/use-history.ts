import type { FullBlock } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { clientOf } from '../../state/clients.ts';
import { keyVersion } from '../../state/connection.ts';

const pageLength = 25;
/** A response may be empty although older transactions exist. After this many in a row the user decides whether to continue. */
const emptyCountMax = 20;

export interface History {
  readonly entries: readonly FullBlock[];
  readonly isLoading: boolean;
  /** Whether everything down to the first stored block is listed. */
  readonly isComplete: boolean;
  readonly error: unknown;
  readonly loadMore: () => void;
}

interface Pages {
  readonly entries: readonly FullBlock[];
  /** `null` when there are no older transactions. */
  readonly next: string | null | undefined;
}

/** Loads the transactions of an address backwards, a page at a time. */
export function useHistory(dataset: string, address: string): History {
  const [pages, setPages] = useState<Pages>({ entries: [], next: undefined });
  const [wanted, setWanted] = useState(1);
  const [isLoading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(undefined);
  const version = keyVersion.value;
  // Each requested page is loaded once.
  useEffect(() => {
    const stop = new AbortController();
    setLoading(true);
    setError(undefined);
    readPage(dataset, { address, before: pages.next ?? undefined, signal: stop.signal })
      .then((page) => {
        if (!stop.signal.aborted)
          setPages({ entries: [...pages.entries, ...page.entries], next: page.next });
      })
      .catch((fault: unknown) => {
        if (!stop.signal.aborted) setError(fault);
      })
      .finally(() => {
        if (!stop.signal.aborted) setLoading(false);
      });
    return () => stop.abort();
  }, [wanted, version]);
  return {
    entries: pages.entries,
    isLoading,
    isComplete: pages.next === null,
    error,
    loadMore: () => setWanted((count) => count + 1),
  };
}

interface PageRequest {
  readonly address: string;
  readonly before: string | undefined;
  readonly signal: AbortSignal;
}

async function readPage(dataset: string, { address, before, signal }: PageRequest): Promise<Pages> {
  let next: string | null | undefined = before;
  for (let emptyCount = 0; emptyCount < emptyCountMax; emptyCount++) {
    const options = { before: next ?? undefined, limit: pageLength, signal };
    const page = await clientOf(dataset).accountTransactions(address, options);
    next = page.next;
    if (page.transactions.length > 0 || next === null) return { entries: page.transactions, next };
  }
  return { entries: [], next };
}
