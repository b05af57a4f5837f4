/** The same ledger, followed over RPC and over gRPC with kills in between, and imported from an archive. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/base/clock';
import { encodeArchive } from '@sluice/grpc/encode-archive';
import { parseJsonBlock } from '@sluice/grpc/encode-json-block';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterEach, expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));
const golden = fileURLToPath(new URL('../golden/', import.meta.url));
const slotMs = 400;
/** The test starts twelve processes; it took 100 s on a machine with many others. */
const timeout = 600_000;

const closers: (() => unknown)[] = [];
const running = new Set<ServiceProcess>();
afterEach(async () => {
  for (const service of running) await end(service, 'SIGKILL');
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(args: readonly string[]): Promise<ServiceProcess> {
  const service = await ServiceProcess.startServe(args, { SLUICE_GRPC_TOKEN: 'secret-token' });
  running.add(service);
  return service;
}

function end(service: ServiceProcess, signal: 'SIGTERM' | 'SIGKILL') {
  running.delete(service);
  return service.end(signal);
}

async function untilHead(service: ServiceProcess, node: SimulatedNode): Promise<number> {
  const { branch, confirmedSlot } = node.state();
  const slot = branch.previousBlock(confirmedSlot);
  const deadline = AbortSignal.timeout(60_000);
  for (let head: { number: number } | null = null; head?.number !== slot; ) {
    head = await service.getJson('/datasets/ledger/head');
    if (deadline.aborted) throw new Error(`the head is ${head?.number}, not ${slot}`);
    await systemClock.sleep(20);
  }
  return slot;
}

/**
 * Lets slots pass one at a time, so that the services can see branches that are replaced later. Nothing shows whether they did: they need not
 * store such a branch, and a kill may come while they are behind. Therefore this is a pause and not a condition.
 */
async function advanceSlots({ ledger }: SimulatedNode, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    ledger.time.advance(slotMs);
    await systemClock.sleep(20);
  }
}

/** The golden queries and one for every record, over the whole chain. */
function queryMix(toBlock: number): object[] {
  const kinds = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];
  const everything = Object.fromEntries(kinds.map((kind) => [kind, [{}]]));
  const bodies = readdirSync(golden)
    .filter((name) => statSync(join(golden, name)).isDirectory() && name !== 'blocks')
    .map((name) => JSON.parse(readFileSync(join(golden, name, 'query.json'), 'utf8')) as object)
    .filter((body) => !('type' in body) || body.type !== 'solana');
  return [{ includeAllBlocks: true, ...everything }, ...bodies].map((body) => {
    const { parentBlockHash: _, ...rest } = body as { parentBlockHash?: string };
    return { ...rest, fromBlock: 0, toBlock };
  });
}

async function answers(service: ServiceProcess, queries: readonly object[]): Promise<string[]> {
  const texts: string[] = [];
  for (const query of queries) {
    const response = await service.query('/datasets/ledger/stream', query);
    texts.push(`${response.status} ${await response.text()}`);
  }
  return texts;
}

function importArchive(folder: string, node: SimulatedNode, last: number): void {
  const { chain, render } = node.ledger;
  const blocks = Array.from({ length: last + 1 }, (_, slot) => chain.blockAt(slot) ?? []).flat();
  const { bytes } = encodeArchive(
    blocks.map((block) => {
      const { json } = render(block, { transactionDetails: 'full', rewards: true });
      return { slot: block.slot, block: parseJsonBlock(json) };
    }),
  );
  const file = join(folder, 'epoch-0.car');
  writeFileSync(file, bytes);
  const args = ['import', '--data', join(folder, 'car'), '--dataset', 'ledger', file];
  const { status, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
}

test('behavior: I-74 F-40 RPC, gRPC with kills, and an archive give byte-identical answers', {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-grpc-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const node = await startSimulatedNode(
    {
      paused: true,
      grpcToken: 'secret-token',
      chain: { seed: 4, slotMs, startSlot: 60, skipRate: 0.1, forkRate: 0.05 },
      content: { transactionsPerBlock: 6, votes: 2, epochRewardsPerBlock: 1 },
    },
    { clock: systemClock },
  );
  closers.push(() => node.close());
  const by = (name: string, ...sources: string[]) =>
    start(['--data', join(folder, name), '--dataset', 'ledger', '--from', 'genesis', ...sources]);
  let rpc = await by('rpc', '--rpc', node.rpcUrl);
  const sources = ['--grpc', node.grpcUrl, '--rpc', node.rpcUrl];
  let grpc = await by('grpc', ...sources);
  const secrets: string[] = [];
  for (const slots of [3, 1, 12, 40]) {
    await untilHead(grpc, node);
    await advanceSlots(node, slots);
    secrets.push(...grpc.log, JSON.stringify(await grpc.getJson('/datasets/ledger/status')));
    for (const service of [grpc, rpc]) expect(await end(service, 'SIGKILL')).toBe('SIGKILL');
    grpc = await by('grpc', ...sources);
    rpc = await by('rpc', '--rpc', node.rpcUrl);
  }
  await untilHead(grpc, node);
  await untilHead(rpc, node);
  // While RPC returns no blocks, they come over gRPC.
  node.faults.set({ kind: 'rpc-error', code: -32603, methods: ['getBlock', 'getBlocks'] });
  await advanceSlots(node, 6);
  const head = await untilHead(grpc, node);
  node.faults.clear();
  expect(await untilHead(rpc, node)).toBe(head);
  const queries = queryMix(head);
  const expected = await answers(rpc, queries);
  expect(expected[0]?.split('\n').length).toBeGreaterThan(90);
  expect(await answers(grpc, queries)).toEqual(expected);
  expect(secrets.join('')).not.toContain('secret-token');
  // The newest blocks of a branch may still be replaced; an archive has the final chain.
  node.ledger.time.advance(60 * slotMs);
  await untilHead(rpc, node);
  await untilHead(grpc, node);
  importArchive(folder, node, head);
  const car = await start(['--data', join(folder, 'car')]);
  const final = await answers(rpc, queries);
  expect(await answers(car, queries)).toEqual(final);
  expect(await answers(grpc, queries)).toEqual(final);
});
