import { ERRORS, type ErrorRow } from '@sluice/base/errors';
import type { StreamEnd } from '@sluice/protocol/closing-record';
import type { Counter, Histogram } from 'prom-client';
import type { ByteMeter } from '../byte-meter.ts';
import { ENCODINGS } from '../negotiate-encoding.ts';
import type { LookupSlots } from '../routes/lookup-slots.ts';
import type { WriteOutcome } from '../streaming/response-writer.ts';
import type { StreamPermits } from '../streaming/stream-permits.ts';
import type { Metrics } from './metrics.ts';

export interface HttpMetrics {
  readonly responses: Counter;
  readonly streamEnds: Counter;
  readonly streamBytes: Counter;
  readonly firstLineSeconds: Histogram;
  readonly requestSeconds: Histogram;
}

/** Why a stream ended, as the label of a metric. */
export type EndReason = StreamEnd | Exclude<WriteOutcome, 'written'> | 'bug';

const END_REASONS: Readonly<Record<EndReason, true>> = {
  complete: true,
  time: true,
  quiet: true,
  fork: true,
  trimmed: true,
  closing: true,
  gone: true,
  stalled: true,
  fault: true,
  bug: true,
};

/** Returns every status of a response: those of the error catalogue, and those that are no errors. */
function listStatuses(): number[] {
  const errors = Object.values(ERRORS).flatMap(({ status }: ErrorRow) => status ?? []);
  return [...new Set([200, 204, 409, ...errors])].toSorted((a, b) => a - b);
}

interface HttpMeters {
  readonly permits: StreamPermits;
  readonly unsent: ByteMeter;
  readonly queries: ByteMeter;
  readonly lookups: LookupSlots;
}

const firstLineBuckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A response that follows the ledger lasts up to 300 s. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 60, 300];

export function buildHttpMetrics(
  metrics: Metrics,
  { permits, unsent, queries, lookups }: HttpMeters,
): HttpMetrics {
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help }, () => [{ value: read() }]);
  gauge('sluice_http_streams', 'Streams that are open now.', () => permits.count);
  gauge('sluice_http_lookups', 'Lookups that run now.', () => lookups.count);
  gauge('sluice_http_unsent_bytes', 'Bytes that wait for slow readers.', () => unsent.bytes);
  gauge(
    'sluice_http_query_bytes',
    'Bytes of the queries that are being read or have an open stream.',
    () => queries.bytes,
  );
  return {
    responses: metrics.counter(
      { name: 'sluice_http_responses_total', help: 'Responses, by status.', labels: ['status'] },
      listStatuses().map((status) => ({ status: String(status) })),
    ),
    streamEnds: metrics.counter(
      {
        name: 'sluice_http_stream_ends_total',
        help: 'Ends of streams, by reason.',
        labels: ['reason'],
      },
      Object.keys(END_REASONS).map((reason) => ({ reason })),
    ),
    streamBytes: metrics.counter(
      {
        name: 'sluice_http_stream_bytes_total',
        help: 'Bytes sent on streams.',
        labels: ['encoding'],
      },
      ENCODINGS.map((encoding) => ({ encoding })),
    ),
    firstLineSeconds: metrics.histogram(
      {
        name: 'sluice_http_first_line_seconds',
        help: 'Time from a request for a stream to its first line.',
      },
      firstLineBuckets,
    ),
    requestSeconds: metrics.histogram(
      {
        name: 'sluice_http_request_seconds',
        help: 'Time from the headers of a request to the end of its response, by route.',
        labels: ['route'],
      },
      requestBuckets,
    ),
  };
}
