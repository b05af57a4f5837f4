/** `sluice serve` as an operator runs it, against a simulated node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import type { SimulatedNode } from '../../packages/server/src/simulator/start-node.ts';
import { startSimulatedNode } from '../../packages/server/src/simulator/start-simulated-node.ts';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-serve-'));
let node: SimulatedNode;
beforeAll(async () => {
  node = await startSimulatedNode({ chain: { startSlot: 300 } }, { clock: systemClock });
});
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

interface BlockRef {
  readonly number: number;
}

async function waitForHead(service: ServiceProcess, slot: number): Promise<void> {
  for (;;) {
    const head = await service.getJson<BlockRef | null>('/datasets/mine/head');
    if (head !== null && head.number >= slot) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const query = {
  fromBlock: 200,
  toBlock: 240,
  fields: { block: { number: true, hash: true }, transaction: { signatures: true } },
  transactions: [{}],
};

test('default: it follows a node into a new dataset, and serves it later without one', async () => {
  const follow = ['--rpc', node.rpcUrl, '--ws', node.wsUrl, '--dataset', 'mine', '--from', '200'];
  const first = await ServiceProcess.startServe(['--data', folder, ...follow]);
  await waitForHead(first, 245);
  expect(await first.getJson('/datasets/mine/metadata')).toEqual({
    dataset: 'mine',
    aliases: [],
    real_time: true,
    start_block: 200,
  });
  const answer = await (await first.query('/datasets/mine/stream', query)).text();
  expect(answer.split('\n').length).toBeGreaterThan(30);
  expect(await first.end('SIGTERM')).toBe(0);
  // What is no dataset is passed over.
  const second = await ServiceProcess.startServe(['--data', folder, '--dialect', 'solana']);
  expect(await second.getJson('/datasets')).toMatchObject([{ dataset: 'mine', real_time: false }]);
  expect(await (await second.query('/datasets/mine/stream', query)).text()).toBe(answer);
  const solana = { ...query, type: 'solana' };
  expect(
    (await second.query('/datasets/mine/stream', solana)).headers.get('x-sqd-head-number'),
  ).toMatch(/^\d+$/);
  // The address of a node may hold a key: it is nowhere to be seen.
  const status = await (await second.get('/datasets/mine/status')).text();
  expect(status + first.log.join('') + first.text).not.toContain(new URL(node.rpcUrl).port);
  expect(await second.end('SIGTERM')).toBe(0);
});

test('error: datasets-missing: a folder without datasets is not served', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'sluice-empty-'));
  await expect(ServiceProcess.startServe(['--data', empty])).rejects.toThrow('datasets-missing');
  rmSync(empty, { recursive: true, force: true });
});

test('error: auth-undecided: beyond loopback a decision is needed', async () => {
  const args = ['--data', folder, '--host', '0.0.0.0'];
  await expect(ServiceProcess.startServe(args)).rejects.toThrow(/--auth none.*--keys FILE/);
});
