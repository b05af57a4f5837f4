import type { Estimate, Query, RecordCount } from '@sluice/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock } from '../../base/clock.ts';
import { formatBytes, formatInteger } from '../../base/format.ts';
import { describeError } from '../../components/error-notice.tsx';
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
  const { transactions, blocks, bytesToRead, isSampled, bounds } = estimate;
  const about = isSampled ? 'about ' : '';
  return (
    <p class={isLarge(estimate) ? 'estimate small warn' : 'estimate muted small'}>
      <strong>Cost</strong> reads about {formatBytes(bytesToRead)}, examines {about}
      {formatInteger(transactions.toExamine)} of {formatInteger(transactions.total)} transactions in
      at most {formatInteger(blocks.withCandidates)} of {formatInteger(blocks.total)} blocks, and
      selects {describeBounds(bounds)}
    </p>
  );
}

/** Returns how many records there are at least and at most. */
function describeBounds(bounds: Estimate['bounds']): string {
  const all = countNames.map(([name]) => bounds[name]);
  const min = all.reduce((sum, bound) => sum + bound.min, 0);
  const max = all.reduce((sum, bound) => sum + (bound.max ?? Infinity), 0);
  if (min === max) return `exactly ${formatInteger(min)} records`;
  if (max === Infinity) return `at least ${formatInteger(min)} records`;
  return `${formatInteger(min)} to ${formatInteger(max)} records`;
}

interface CountButtonProps {
  readonly dataset: string;
  /** Undefined while the query is not valid. */
  readonly query: JsonObject | undefined;
}

/** Counts the records of a query on request, because a count may have to read much of the dataset. */
export function CountButton({ dataset, query }: CountButtonProps) {
  const [note, setNote] = useState('');
  const body = query === undefined ? undefined : JSON.stringify(query);
  const stop = useRef(new AbortController());
  useEffect(() => {
    stop.current = new AbortController();
    setNote('');
    return () => stop.current.abort();
  }, [dataset, body]);
  const count = async () => {
    if (body === undefined) return;
    const { signal } = stop.current;
    setNote('Counting…');
    const text = await clientOf(dataset)
      .count(JSON.parse(body) as Query, { signal })
      .then(describeCount, (error: unknown) => describeError(error).text);
    if (!signal.aborted) setNote(text);
  };
  return (
    <p class="count small">
      <button
        class="button"
        type="button"
        disabled={body === undefined}
        onClick={() => void count()}
      >
        Count
      </button>{' '}
      <span role="status">{note}</span>
    </p>
  );
}

const countNames: readonly (readonly [
  name: 'transactions' | 'instructions' | 'logs' | 'balances' | 'tokenBalances' | 'rewards',
  text: string,
])[] = [
  ['transactions', 'transactions'],
  ['instructions', 'instructions'],
  ['logs', 'logs'],
  ['balances', 'balances'],
  ['tokenBalances', 'token balances'],
  ['rewards', 'rewards'],
];

function describeCount(counts: RecordCount): string {
  const { blocks, firstBlock, lastBlock, toBlock } = counts;
  if (firstBlock === null || lastBlock === null)
    return `Nothing up to slot ${formatInteger(toBlock)}`;
  const parts = countNames.flatMap(([name, text]) =>
    counts[name] === 0 ? [] : [`${formatInteger(counts[name])} ${text}`],
  );
  const range = `slots ${formatInteger(firstBlock)} to ${formatInteger(lastBlock)}`;
  return `${parts.join(', ')} in ${formatInteger(blocks)} blocks, ${range}`;
}
