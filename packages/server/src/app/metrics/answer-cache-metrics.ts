import type { Metrics } from '../../http/metrics/metrics.ts';
import type { AnswerCache } from '../../stream/answer-cache.ts';

export function addAnswerCacheMetrics(metrics: Metrics, answers: AnswerCache): void {
  metrics.gauge(
    { name: 'sluice_answer_cache_bytes', help: 'The size of the cached answers.' },
    () => [{ value: answers.bytes }],
  );
  metrics.count(
    {
      name: 'sluice_answer_cache_segments_total',
      help: 'Whole sealed segments that queries asked for, by whether the cache had the answer.',
      labels: ['result'],
    },
    () => [
      { labels: { result: 'hit' }, value: answers.hitCount },
      { labels: { result: 'miss' }, value: answers.missCount },
    ],
  );
}
