import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const tellThreads = fileURLToPath(new URL('./tell-threads.mjs', import.meta.url));

interface Told {
  readonly thread?: string;
  readonly env: object | null;
}

test('behavior: S-14 a service that follows and answers gives no thread anything of its environment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-threads-'));
  const service = await ServiceProcess.startDemo(folder, undefined, {
    NODE_OPTIONS: `--import ${tellThreads}`,
  });
  try {
    const told = () =>
      service.log.flatMap((line) => {
        const one = JSON.parse(line) as Told;
        return one.thread === undefined ? [] : [one];
      });
    // Those that merge are started when there is something to merge; that none is given more is a rule of the repository.
    const started = ['engine-worker.js', 'fetch-worker.js', 'prepare-worker.js'];
    // What it logs comes by another way than what it says, and may come later.
    await expect
      .poll(() => told().map(({ thread }) => thread), { timeout: 20_000 })
      .toEqual(expect.arrayContaining(started));
    for (const { env, thread } of told()) expect(env, thread).toEqual({});
  } finally {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
