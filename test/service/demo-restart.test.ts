/** Stops, kills and restarts the demo. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type BlockRef,
  expectLinked,
  fields,
  linesOf,
  readBlocks,
  waitForSlot,
} from './demo-blocks.ts';
import { runCost, ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
let demo: ServiceProcess;
beforeAll(async () => {
  demo = await ServiceProcess.startDemo(folder);
});
afterAll(async () => {
  await demo.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'behavior: after %s the demo continues without gaps or duplicates within seconds (I-30, I-70, L-19)',
  async (signal) => {
    const finalized = await waitForSlot(demo, 'ledger-beta/finalized-head', 160);
    const before = await readBlocks(demo, 'ledger-beta', [0, finalized.number]);
    const followed = demo.query('/datasets/ledger-beta/stream', { fromBlock: 0, fields });
    const response = await followed;
    const ended = demo.end(signal);
    const body = await response.text().catch(() => 'broken');
    if (signal === 'SIGTERM') {
      // A truncated response still decodes up to its last whole line.
      expect(linesOf(body).length).toBeGreaterThan(0);
      expect(await ended).toBe(0);
    } else {
      expect(await ended).toBe('SIGKILL');
      // If the ledger of the demo forked just before the kill, the service had already ended the response after a whole line.
      if (body !== 'broken') expect(body.endsWith('\n') && linesOf(body).length > 0).toBe(true);
    }
    const command = await runCost(['--version']);
    const startMs = performance.now();
    demo = await ServiceProcess.startDemo(folder);
    expect(demo.text).toMatch(/ledger-beta: .*; continues from slot \d+\n/);
    // No option was given that would be ignored.
    expect(demo.log.filter((line) => line.includes('ignored'))).toEqual([]);
    const servingMs = performance.now() - startMs;
    const head = await demo.getJson<BlockRef>('/datasets/ledger-beta/head');
    expect(head.number).toBeGreaterThanOrEqual(finalized.number);
    // The limit is five seconds, plus the time that starting any process takes while other tests use the CPU.
    expect(servingMs).toBeLessThan(5_000 + 8 * command.ms);
    // The CPU time is below five seconds too, or below 20 times that of a trivial command on this machine.
    const metrics = await (await fetch(`${demo.adminUrl}/metrics`)).text();
    const spentSeconds = Number(/^process_cpu_seconds_total (.*)$/m.exec(metrics)?.[1]);
    expect(spentSeconds).toBeLessThan(Math.max(5, 20 * command.seconds));
    const later = await waitForSlot(demo, 'ledger-beta/head', head.number + 3);
    const after = await readBlocks(demo, 'ledger-beta', [0, later.number]);
    expect(after.slice(0, before.length)).toEqual(before);
    expectLinked(after);
    expect(after.length).toBeGreaterThan(before.length);
    // The time of the simulated ledger was paused meanwhile.
    const seconds = after.map(({ header }) => header.timestamp);
    const steps = seconds.slice(1).map((at, i) => at - (seconds[i] as number));
    expect(Math.max(...steps)).toBeLessThanOrEqual(3);
  },
);

test('behavior: a gzip response that a shutdown ends is complete', async () => {
  const { hostname, port } = new URL(demo.url);
  const body = JSON.stringify({ fromBlock: 0, fields });
  const chunks: Buffer[] = [];
  let ended: ReturnType<ServiceProcess['end']> | undefined;
  const closed = new Promise<boolean>((resolve, reject) => {
    const outgoing = request(
      {
        hostname,
        port,
        method: 'POST',
        path: '/datasets/ledger-beta/stream',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      },
      (incoming) => {
        incoming.on('data', (chunk: Buffer) => {
          ended ??= demo.end('SIGTERM');
          chunks.push(chunk);
        });
        incoming.on('error', reject);
        incoming.on('end', () => resolve(incoming.complete));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
  expect(await closed).toBe(true);
  expect(await ended).toBe(0);
  const lines = linesOf(gunzipSync(Buffer.concat(chunks)).toString());
  expect(lines.length).toBeGreaterThan(0);
});
