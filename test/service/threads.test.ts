import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const reportThreads = fileURLToPath(new URL('./report-threads.mjs', import.meta.url));

interface ThreadReport {
  readonly thread?: string;
  readonly env: object | null;
}

test('behavior: S-14 a service that follows and serves passes no environment variables to its threads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-threads-'));
  const service = await ServiceProcess.startDemo(folder, undefined, {
    NODE_OPTIONS: `--import ${reportThreads}`,
  });
  try {
    const reports = () =>
      service.log.flatMap((line) => {
        const report = JSON.parse(line) as ThreadReport;
        return report.thread === undefined ? [] : [report];
      });
    // Merge threads start only when there is something to merge. A tidy rule checks that no thread gets the environment.
    const started = ['engine-worker.js', 'fetch-worker.js', 'prepare-worker.js'];
    // The log and the output use different streams, so the log may arrive later.
    await expect
      .poll(() => reports().map(({ thread }) => thread), { timeout: 20_000 })
      .toEqual(expect.arrayContaining(started));
    for (const { env, thread } of reports()) expect(env, thread).toEqual({});
  } finally {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
