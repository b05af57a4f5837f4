import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { ByteMeter } from '../byte-meter.ts';
import { KEY_LIMITS, KeyBudgets } from '../keys/key-budgets.ts';
import { LookupSlots } from '../routes/lookup-slots.ts';
import { StreamPermits } from '../streaming/stream-permits.ts';
import { buildHttpMetrics } from './http-metrics.ts';
import { Metrics, type Sample } from './metrics.ts';

/** Returns the lines of the text format without comments. */
async function linesOf(metrics: Metrics): Promise<string[]> {
  const text = await metrics.text();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('default: known label values start at 0', async () => {
  const metrics = new Metrics();
  metrics.counter({ name: 'plain_total', help: 'Plain.' });
  const counter = metrics.counter({ name: 'one_total', help: 'One.', labels: ['kind'] }, [
    { kind: 'a' },
    { kind: 'b' },
  ]);
  counter.inc({ kind: 'b' }, 2);
  expect(await linesOf(metrics)).toEqual([
    'plain_total 0',
    'one_total{kind="a"} 0',
    'one_total{kind="b"} 2',
  ]);
  expect(await metrics.text()).toContain('# HELP one_total One.\n# TYPE one_total counter\n');
  expect(metrics.contentType).toContain('text/plain');
});

test.each(['gauge', 'count'] as const)('behavior: a %s is read anew each time', async (kind) => {
  const metrics = new Metrics();
  let samples: Sample[] = [{ labels: { kind: 'a' }, value: 5 }];
  metrics[kind]({ name: 'read_now', help: 'Read.', labels: ['kind'] }, () => samples);
  metrics[kind]({ name: 'read_plain', help: 'Read.' }, () => [{ value: 7 }]);
  expect(await linesOf(metrics)).toEqual(['read_now{kind="a"} 5', 'read_plain 7']);
  samples = [{ labels: { kind: 'b' }, value: 3 }];
  expect(await linesOf(metrics)).toEqual(['read_now{kind="b"} 3', 'read_plain 7']);
});

test('behavior: a histogram has the given buckets', async () => {
  const metrics = new Metrics();
  const histogram = metrics.histogram({ name: 'wait', help: 'Wait.', labels: ['route'] }, [1, 2]);
  histogram.observe({ route: '/' }, 1.5);
  expect(await linesOf(metrics)).toEqual([
    'wait_bucket{le="1",route="/"} 0',
    'wait_bucket{le="2",route="/"} 1',
    'wait_bucket{le="+Inf",route="/"} 1',
    'wait_sum{route="/"} 1.5',
    'wait_count{route="/"} 1',
  ]);
});

test('default: the metrics of the listener exist before the first request', async () => {
  const metrics = new Metrics();
  const unsent = new ByteMeter(() => 100);
  const queries = new ByteMeter(() => 100);
  const lookups = new LookupSlots({ lookupCountMax: 5, clientLookupCountMax: 5 });
  const budgets = new KeyBudgets(KEY_LIMITS, new ManualClock());
  const permits = new StreamPermits({ streamCountMax: 5 }, { budgets, unsent });
  const { firstLineSeconds, requestSeconds } = buildHttpMetrics(metrics, {
    permits,
    unsent,
    queries,
    lookups,
  });
  permits.take(null);
  lookups.take('client');
  lookups.take('client');
  unsent.add(7);
  queries.add(9);
  firstLineSeconds.observe(3);
  requestSeconds.observe({ route: '/datasets' }, 100);
  const lines = await linesOf(metrics);
  expect(lines).toEqual(
    expect.arrayContaining([
      'sluice_http_streams 1',
      'sluice_http_lookups 2',
      'sluice_http_unsent_bytes 7',
      'sluice_http_query_bytes 9',
      'sluice_http_first_line_seconds_bucket{le="2.5"} 0',
      'sluice_http_first_line_seconds_bucket{le="5"} 1',
      'sluice_http_request_seconds_bucket{le="60",route="/datasets"} 0',
      'sluice_http_request_seconds_bucket{le="300",route="/datasets"} 1',
    ]),
  );
  const labelsOf = (name: string, label: string) =>
    lines.flatMap((line) => new RegExp(`^${name}{${label}="(.*)"} 0$`).exec(line)?.[1] ?? []);
  expect(labelsOf('sluice_http_responses_total', 'status')).toEqual(
    '200 204 400 401 403 404 405 408 409 413 415 429 431 500 503'.split(' '),
  );
  expect(labelsOf('sluice_http_stream_ends_total', 'reason')).toEqual(
    'complete time quiet fork trimmed closing gone stalled fault bug'.split(' '),
  );
  expect(labelsOf('sluice_http_stream_bytes_total', 'encoding')).toContain('gzip');
});
