/** A service that loads history while it follows a simulated node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const headSlot = 300;
const path = '/datasets/mine';
const folder = mkdtempSync(join(tmpdir(), 'sluice-backfill-'));
let node: SimulatedNode;
beforeAll(async () => {
  const chain = { seed: 5, startSlot: headSlot, skipRate: 0, forkRate: 0 };
  const content = { transactionsPerBlock: 1, votes: 0, epochRewardsPerBlock: 1 };
  node = await startSimulatedNode({ paused: true, chain, content }, { clock: systemClock });
});
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

test('behavior: a service loads history while it follows, and start_block moves down', async () => {
  const args = ['--data', folder, '--rpc', node.rpcUrl, '--dataset', 'mine'];
  const range = ['--from', 'latest', '--backfill-to', '230'];
  // The node refuses the blocks of history until the service was seen at its first start_block.
  const older = { methods: ['getBlock'], fromSlot: 0, toSlot: headSlot - 40 } as const;
  const held = node.faults.set({ kind: 'rpc-error', code: -32014, ...older });
  const service = await ServiceProcess.startServe([...args, ...range]);
  try {
    const starts = new Set<number>();
    for (let start = 0; start !== 230; ) {
      start =
        (await service.getJson<{ start_block?: number }>(`${path}/metadata`)).start_block ?? 0;
      starts.add(start);
      if (start > 0) node.faults.clear({ id: held.id });
      await systemClock.sleep(20);
    }
    // start_block moves from the first followed block to the end of history in one step, because all of it fits into one segment.
    starts.delete(0);
    expect(starts.size).toBe(2);
    let status: { backfill: unknown; alarms: unknown[] };
    do status = await service.getJson(`${path}/status`);
    while (status.backfill !== null);
    expect(status.alarms).toEqual([]);
    const query = { fromBlock: 230, toBlock: headSlot - 1, includeAllBlocks: true };
    const response = await service.query(`${path}/stream`, query);
    const lines = (await response.text()).trimEnd().split('\n');
    const slots = lines.map((line) => (JSON.parse(line) as { header: { number: number } }).header);
    expect(slots.map(({ number }) => number)).toEqual(
      Array.from({ length: headSlot - 230 }, (_, i) => 230 + i),
    );
  } finally {
    node.faults.clear();
    await service.end('SIGTERM');
  }
  expect(await service.end('SIGTERM')).toBe(0);
});
