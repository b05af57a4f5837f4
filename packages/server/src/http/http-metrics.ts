import type { ByteMeter } from './byte-meter.ts';
import type { Counter, Metrics } from './metrics.ts';
import type { StreamPlaces } from './stream-places.ts';

export interface HttpMetrics {
  readonly responses: Counter;
  readonly streamEnds: Counter;
  readonly streamBytes: Counter;
}

export function buildHttpMetrics(
  metrics: Metrics,
  places: StreamPlaces,
  meter: ByteMeter,
): HttpMetrics {
  metrics.gauge('sluice_http_streams', 'Streams that are open now.', () => [
    { value: places.count },
  ]);
  metrics.gauge('sluice_http_unsent_bytes', 'Bytes that wait for slow readers.', () => [
    { value: meter.bytes },
  ]);
  return {
    responses: metrics.counter('sluice_http_responses_total', 'Answers, by status.'),
    streamEnds: metrics.counter('sluice_http_stream_ends_total', 'Ends of streams, by reason.'),
    streamBytes: metrics.counter('sluice_http_stream_bytes_total', 'Bytes sent on streams.'),
  };
}
