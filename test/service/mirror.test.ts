import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterEach, expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const closers: (() => unknown)[] = [];
const running = new Set<ServiceProcess>();
afterEach(async () => {
  for (const service of running) await end(service, 'SIGKILL');
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(args: readonly string[]): Promise<ServiceProcess> {
  const service = await ServiceProcess.startServe(args);
  running.add(service);
  return service;
}

function end(service: ServiceProcess, signal: 'SIGTERM' | 'SIGKILL') {
  running.delete(service);
  return service.end(signal);
}

/** A proxy with a fixed address, whose target can be stopped and restarted. */
async function startRelay(): Promise<{ url: string; target: { port: number } }> {
  const target = { port: 0 };
  const server = createServer((socket) => {
    const behind = connect(target.port, '127.0.0.1');
    socket.pipe(behind).pipe(socket);
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, target };
}

/** Returns all blocks with every record, as a client receives them. */
async function readAll(service: ServiceProcess, name: string, toBlock: number): Promise<string> {
  const kinds = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];
  const records = Object.fromEntries(kinds.map((kind) => [kind, [{}]]));
  const query = { fromBlock: 0, toBlock, includeAllBlocks: true, ...records };
  return (await service.query(`/datasets/${name}/stream`, query)).text();
}

test('behavior: F-01 F-40 I-74 a mirror survives a kill of its portal and continues where it was', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mirror-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const node = await startSimulatedNode(
    {
      paused: true,
      chain: { seed: 4, startSlot: 60, skipRate: 0.1, forkRate: 0 },
      content: { transactionsPerBlock: 3, votes: 1, epochRewardsPerBlock: 1 },
    },
    { clock: systemClock },
  );
  closers.push(() => node.close());
  const relay = await startRelay();
  const startPortal = async () => {
    const args = ['--data', join(folder, 'portal'), '--rpc', node.rpcUrl];
    const portal = await start([...args, '--dataset', 'up', '--from', 'genesis']);
    relay.target.port = Number(new URL(portal.url).port);
    return portal;
  };
  const portal = await startPortal();
  const source = ['--portal', `${relay.url}/datasets/up`, '--from', 'genesis'];
  const mirror = await start([
    ...['--data', join(folder, 'mirror'), '--dataset', 'down'],
    ...source,
  ]);
  const untilHead = async () => {
    const { branch, confirmedSlot } = node.state();
    let slot = confirmedSlot;
    while (!branch.hasBlock(slot)) slot--;
    let head: { number: number } | null = null;
    while (head?.number !== slot) {
      head = await mirror.getJson('/datasets/down/head');
      await systemClock.sleep(50);
    }
    return slot;
  };
  await untilHead();
  expect(await end(portal, 'SIGKILL')).toBe('SIGKILL');
  node.ledger.time.advance(400 * 20);
  const again = await startPortal();
  const head = await untilHead();
  const lines = await readAll(mirror, 'down', head);
  expect(lines.split('\n').length).toBeGreaterThan(60);
  expect(lines).toBe(await readAll(again, 'up', head));
  const status = await mirror.getJson<{ alarms: unknown[]; sources: object[] }>(
    '/datasets/down/status',
  );
  expect(status.sources).toMatchObject([{ name: 'portal-1', state: 'live' }]);
  expect(JSON.stringify(status)).not.toContain(relay.url);
  expect(await end(mirror, 'SIGTERM')).toBe(0);
  expect(await end(again, 'SIGTERM')).toBe(0);
});
