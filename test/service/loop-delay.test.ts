import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { encodeBase58 } from '@sluice/base/base58';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';
import { ServiceProcess } from './service-process.ts';

const data = mkdtempSync(join(tmpdir(), 'sluice-loop-'));
const watchLoop = fileURLToPath(new URL('./watch-loop.mjs', import.meta.url));
let service: ServiceProcess;

beforeAll(async () => {
  const blocks = join(data, 'blocks.jsonl');
  const ignored = { out: new PassThrough().resume(), err: new PassThrough().resume() };
  const made = ['simulate', '--blocks', '2', '--profile', 'busy', '--out', blocks];
  expect(await main(made, ignored)).toBe(0);
  expect(await main(['import', '--data', data, '--dataset', 'mine', blocks], ignored)).toBe(0);
  service = await ServiceProcess.startServe(['--data', data], {
    ...(process.platform === 'linux' ? { NODE_OPTIONS: `--import ${watchLoop}` } : {}),
  });
});
afterAll(async () => {
  await service.end('SIGKILL');
  rmSync(data, { recursive: true, force: true });
});

/** A query of the maximum size: 100 items with 10,000 values. One of the items selects everything. */
function heaviestQuery(toBlock: number, salt: number): string {
  const address = (i: number) => encodeBase58(createHash('sha256').update(`${salt} ${i}`).digest());
  const items = Array.from({ length: 99 }, (_, item) => ({
    mentionsAccount: Array.from({ length: 101 }, (_, i) => address(item * 101 + i)),
  }));
  const everything = { instructions: true, logs: true, balances: true, tokenBalances: true };
  const fields = { transaction: { signatures: true }, instruction: { programId: true } };
  return JSON.stringify({
    fromBlock: 1_000,
    toBlock,
    fields,
    transactions: [everything, ...items],
  });
}

/** Returns the CPU time in milliseconds. */
function spentMs(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

interface LoopDelay {
  readonly loop: { readonly count: number; readonly p99: number; readonly max: number };
}

async function loopDelay(): Promise<LoopDelay['loop']> {
  const lines = await service.signal('SIGUSR2', '{"loop":');
  return (JSON.parse(lines.at(-1) as string) as LoopDelay).loop;
}

// Only Linux reports the CPU time of a thread.
test.skipIf(process.platform !== 'linux')(
  'limit: F-45 the most expensive filters over dense blocks block the main thread for less than 50 ms of CPU time',
  async () => {
    const { number } = await service.getJson<{ number: number }>('/datasets/mine/head');
    const queries = Array.from({ length: 10 }, (_, salt) => heaviestQuery(number, salt));
    // Delays during the start do not count.
    await loopDelay();
    const answers = await Promise.all(
      queries.map(async (body) => (await service.post('/datasets/mine/stream', body)).text()),
    );
    const delay = await loopDelay();
    // No record has these addresses, so all clients receive what the one item selects. The bodies are not compared
    // directly, because a failed toEqual would print megabytes.
    expect(answers.every((answer) => answer === answers[0])).toBe(true);
    expect(answers[0]?.match(/"signatures"/g)?.length).toBeGreaterThan(1_000);
    const parseMs = Math.min(...queries.map((query) => spentMs(() => JSON.parse(query))));
    // On a slow machine the limit grows with the time of parsing one such query.
    expect(delay.max).toBeLessThan(Math.max(50, 100 * parseMs));
  },
);
