import { ERRORS, type ErrorRow } from '../base/errors.ts';
import type { StreamEnd } from '../stream/line-stream.ts';
import type { ByteMeter } from './byte-meter.ts';
import type { Counter, Metrics } from './metrics.ts';
import { ENCODINGS } from './negotiate-encoding.ts';
import type { WriteOutcome } from './response-writer.ts';
import type { StreamPlaces } from './stream-places.ts';

export interface HttpMetrics {
  readonly responses: Counter;
  readonly streamEnds: Counter;
  readonly streamBytes: Counter;
}

/** Why a stream came to its end, as metrics call it. */
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

/** Every status that we answer with: those of the catalogue, and those that are no error in it. */
function listStatuses(): number[] {
  const errors = Object.values(ERRORS).flatMap(({ status }: ErrorRow) => status ?? []);
  return [...new Set([200, 204, 409, ...errors])].toSorted((a, b) => a - b);
}

interface HttpMeters {
  readonly places: StreamPlaces;
  readonly unsent: ByteMeter;
  readonly queries: ByteMeter;
}

export function buildHttpMetrics(
  metrics: Metrics,
  { places, unsent, queries }: HttpMeters,
): HttpMetrics {
  metrics.gauge('sluice_http_streams', 'Streams that are open now.', () => [
    { value: places.count },
  ]);
  metrics.gauge('sluice_http_unsent_bytes', 'Bytes that wait for slow readers.', () => [
    { value: unsent.bytes },
  ]);
  metrics.gauge(
    'sluice_http_query_bytes',
    'Bytes of the queries that are read or have an open stream.',
    () => [{ value: queries.bytes }],
  );
  return {
    responses: metrics.counter(
      'sluice_http_responses_total',
      'Answers, by status.',
      listStatuses().map((status) => ({ status: String(status) })),
    ),
    streamEnds: metrics.counter(
      'sluice_http_stream_ends_total',
      'Ends of streams, by reason.',
      Object.keys(END_REASONS).map((reason) => ({ reason })),
    ),
    streamBytes: metrics.counter(
      'sluice_http_stream_bytes_total',
      'Bytes sent on streams.',
      ENCODINGS.map((encoding) => ({ encoding })),
    ),
  };
}
