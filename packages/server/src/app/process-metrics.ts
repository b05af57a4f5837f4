import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from '../http/metrics.ts';

/** How often the delay of the event loop is sampled. */
const loopSampleMs = 20;
const nanosecondsPerSecond = 1e9;

/** Registers metrics of the process, with the usual Prometheus names where they exist. */
export function addProcessMetrics(metrics: Metrics, version: string): void {
  const loop = monitorEventLoopDelay({ resolution: loopSampleMs });
  loop.enable();
  const start = { value: Math.round(performance.timeOrigin) / 1000 };
  metrics.gauge('sluice_build_info', 'Always 1; the labels say what runs.', () => [
    { labels: { version, node: process.versions.node }, value: 1 },
  ]);
  metrics.gauge('process_start_time_seconds', 'When the process began, in unix seconds.', () => [
    start,
  ]);
  metrics.count('process_cpu_seconds_total', 'Processor time of all threads.', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6 }];
  });
  metrics.gauge(
    'process_resident_memory_bytes',
    'Memory of all threads, cache of files included.',
    () => [{ value: process.memoryUsage.rss() }],
  );
  metrics.gauge(
    'sluice_loop_delay_seconds',
    'The longest that the main thread was late since the last time this was read.',
    () => {
      // A sample is the time between two timers, so one interval means no delay.
      const seconds = Math.max(0, loop.max / nanosecondsPerSecond - loopSampleMs / 1000);
      loop.reset();
      return [{ value: seconds }];
    },
  );
}
