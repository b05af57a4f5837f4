import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from '../../http/metrics/metrics.ts';

/** The interval at which the delay of the event loop is sampled. A shorter one would cost more without showing more. */
const loopSampleMs = 20;
const nanosecondsPerSecond = 1e9;

/** Adds metrics of the process. Those that Prometheus clients usually export have the usual names. */
export function addProcessMetrics(metrics: Metrics, version: string): void {
  const loop = monitorEventLoopDelay({ resolution: loopSampleMs });
  loop.enable();
  const start = { value: Math.round(performance.timeOrigin) / 1000 };
  metrics.gauge(
    {
      name: 'sluice_build_info',
      help: 'Always 1; the labels have the running version.',
      labels: ['version', 'node'],
    },
    () => [{ labels: { version, node: process.versions.node }, value: 1 }],
  );
  metrics.gauge(
    {
      name: 'process_start_time_seconds',
      help: 'When the process started, in unix seconds.',
    },
    () => [start],
  );
  metrics.count(
    { name: 'process_cpu_seconds_total', help: 'Processor time of all threads.' },
    () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6 }];
    },
  );
  metrics.gauge(
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of all threads.',
    },
    () => [{ value: process.memoryUsage.rss() }],
  );
  metrics.gauge(
    {
      name: 'sluice_loop_delay_seconds',
      help: 'The longest delay of the event loop since the last scrape.',
    },
    () => {
      // A sample is the time between two checks, so it is `loopSampleMs` if the event loop has no delay.
      const seconds = Math.max(0, loop.max / nanosecondsPerSecond - loopSampleMs / 1000);
      loop.reset();
      return [{ value: seconds }];
    },
  );
}
