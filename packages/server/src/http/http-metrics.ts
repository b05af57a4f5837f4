import type { ByteMeter } from './byte-meter.ts';
import type { Counter, Metrics } from './metrics.ts';
import type { StreamPlaces } from './stream-places.ts';

export interface HttpMetrics {
  readonly responses: Counter;
  readonly streamEnds: Counter;
  readonly streamBytes: Counter;
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
    responses: metrics.counter('sluice_http_responses_total', 'Answers, by status.'),
    streamEnds: metrics.counter('sluice_http_stream_ends_total', 'Ends of streams, by reason.'),
    streamBytes: metrics.counter('sluice_http_stream_bytes_total', 'Bytes sent on streams.'),
  };
}
