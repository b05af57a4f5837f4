import type { Estimate, Query } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { clock } from '../../base/clock.ts';
import { formatBytes, formatInteger } from '../../base/format.ts';
import { clientOf } from '../../state/clients.ts';
import type { JsonObject } from './query-model.ts';

const delayMs = 400;
/** A larger scan takes noticeably long, so the page asks for confirmation. */
const largeBytes = 250_000_000;
const largeTransactionCount = 1_000_000;

export function isLarge(estimate: Estimate | undefined): boolean {
  if (estimate === undefined) return false;
  return (
    estimate.bytesToRead > largeBytes || estimate.transactions.toExamine > largeTransactionCount
  );
}

/** Requests the cost of a valid query, shortly after it changed. */
export function useEstimate(dataset: string, query: JsonObject | undefined): Estimate | undefined {
  const [estimate, setEstimate] = useState<Estimate | undefined>(undefined);
  const body = query === undefined ? undefined : JSON.stringify(query);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      await clock.sleep(delayMs, stop.signal);
      if (stop.signal.aborted || body === undefined) return;
      const sent = JSON.parse(body) as Query;
      const received = await clientOf(dataset).estimate(sent, { signal: stop.signal });
      if (!stop.signal.aborted) setEstimate(received);
    };
    setEstimate(undefined);
    // The query can also be run without an estimate.
    ask().catch(() => undefined);
    return () => stop.abort();
  }, [dataset, body]);
  return estimate;
}

interface EstimateLineProps {
  readonly estimate: Estimate | undefined;
  /** Whether there is a query to estimate. */
  readonly isValid: boolean;
}

export function EstimateLine({ estimate, isValid }: EstimateLineProps) {
  if (estimate === undefined) {
    return (
      <p class="estimate muted small">
        {isValid ? 'Estimating the cost…' : 'The cost appears when the query is valid.'}
      </p>
    );
  }
  const { transactions, blocks, bytesToRead, isSampled } = estimate;
  const about = isSampled ? 'about ' : '';
  return (
    <p class={isLarge(estimate) ? 'estimate small warn' : 'estimate muted small'}>
      <strong>Cost</strong> reads about {formatBytes(bytesToRead)}, examines {about}
      {formatInteger(transactions.toExamine)} of {formatInteger(transactions.total)} transactions in
      at most {formatInteger(blocks.withCandidates)} of {formatInteger(blocks.total)} blocks
    </p>
  );
}
