/** Runs `sluice serve` as an operator does, against a simulated node. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '@sluice/base/clock';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';
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

test('default: a service follows a node into a new dataset, and later serves the dataset without a node', async () => {
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
  // Folders that are not datasets are ignored.
  const second = await ServiceProcess.startServe(['--data', folder, '--dialect', 'solana']);
  expect(await second.getJson('/datasets')).toMatchObject([{ dataset: 'mine', real_time: false }]);
  expect(await (await second.query('/datasets/mine/stream', query)).text()).toBe(answer);
  const solana = { ...query, type: 'solana' };
  expect(
    (await second.query('/datasets/mine/stream', solana)).headers.get('x-sqd-head-number'),
  ).toMatch(/^\d+$/);
  // The address of a node may contain a key, so it must not appear anywhere.
  const status = await (await second.get('/datasets/mine/status')).text();
  expect(status + first.log.join('') + first.text).not.toContain(`:${new URL(node.rpcUrl).port}`);
  expect(await second.end('SIGTERM')).toBe(0);
});

test('behavior: options that apply only at creation are ignored later, and a warning is logged if they differ', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-ignored-'));
  const follow = ['--data', data, '--rpc', node.rpcUrl, '--ws', node.wsUrl, '--dataset', 'mine'];
  const startedWith = async (...args: readonly string[]) => {
    const service = await ServiceProcess.startServe([...follow, ...args]);
    await waitForHead(service, 250);
    expect(await service.end('SIGTERM')).toBe(0);
    const lines = service.log.map((line) => JSON.parse(line) as { ignored?: readonly string[] });
    return lines.flatMap(({ ignored }) => (ignored === undefined ? [] : [ignored]));
  };
  const made = ['--from', '250', '--votes', 'keep'];
  expect(await startedWith(...made)).toEqual([]);
  // Without options, or with the same ones, there is no warning.
  expect(await startedWith()).toEqual([]);
  expect(await startedWith(...made)).toEqual([]);
  const defaults = ['--from', 'latest', '--votes', 'drop'];
  expect(await startedWith(...defaults, '--allow-missing', 'logs')).toEqual([
    ['from', 'votes', 'allowMissing'],
  ]);
  rmSync(data, { recursive: true, force: true });
});

/** Each call writes its own segment. */
async function importSlots(data: string, first: number, last: number): Promise<void> {
  const path = join(data, `${first}.jsonl`);
  const lines: string[] = [];
  for (let slot = first; slot <= last; slot++) {
    const block = node.ledger.chain.blockAt(slot);
    if (block === undefined) continue;
    const { json } = node.ledger.render(block, { transactionDetails: 'full', rewards: true });
    lines.push(`{"slot":${slot},"block":${Buffer.from(json).toString()}}`);
  }
  writeFileSync(path, lines.join('\n'));
  const context = { out: new PassThrough(), err: new PassThrough() };
  expect(await main(['import', '--data', data, '--dataset', 'mine', path], context)).toBe(0);
}

test('behavior: an imported dataset can be followed, and --keep removes old blocks (I-83)', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-keep-'));
  await importSlots(data, 200, 229);
  await importSlots(data, 230, 250);
  const follow = ['--rpc', node.rpcUrl, '--ws', node.wsUrl, '--dataset', 'mine', '--keep', '40'];
  const service = await ServiceProcess.startServe(['--data', data, ...follow]);
  await waitForHead(service, 300);
  const startBlock = async () =>
    (await service.getJson<{ start_block: number }>('/datasets/mine/metadata')).start_block;
  while ((await startBlock()) < 230) await systemClock.sleep(50);
  const range = { ...query, fromBlock: 251, toBlock: 260 };
  const answer = await (await service.query('/datasets/mine/stream', range)).text();
  const expected = Array.from({ length: 10 }, (_, i) => node.ledger.chain.blockAt(251 + i));
  for (const block of expected) {
    if (block !== undefined) expect(answer).toContain(block.blockhash);
  }
  expect((await service.query('/datasets/mine/stream', { ...query, fromBlock: 229 })).status).toBe(
    400,
  );
  expect(await service.end('SIGTERM')).toBe(0);
  rmSync(data, { recursive: true, force: true });
});

test('behavior: I-91 a removed lock is reacquired, and following continues', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-unlocked-'));
  const feed = ['--rpc', node.rpcUrl, '--ws', node.wsUrl, '--dataset', 'mine', '--from', '290'];
  const service = await ServiceProcess.startServe(['--data', data, ...feed]);
  await waitForHead(service, 300);
  rmSync(join(data, 'writer.sock'));
  const { number } = await service.getJson<BlockRef>('/datasets/mine/head');
  await waitForHead(service, number + 5);
  expect(existsSync(join(data, 'writer.sock'))).toBe(true);
  expect(await service.getJson('/datasets/mine/status')).toMatchObject({ alarms: [] });
  expect(await service.end('SIGTERM')).toBe(0);
  rmSync(data, { recursive: true, force: true });
});

test('behavior: the end of a backfill is logged once, even if it was fast', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-backfilled-'));
  const what = ['--dataset', 'mine', '--from', '290', '--backfill-to', '280'];
  const service = await ServiceProcess.startServe(['--data', data, '--rpc', node.rpcUrl, ...what]);
  const endLines = () => service.log.filter((line) => line.includes('"msg":"backfilled"'));
  while (endLines().length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(endLines().map((line) => JSON.parse(line))).toMatchObject([{ dataset: 'mine', to: 280 }]);
  expect(await service.getJson('/datasets/mine/metadata')).toMatchObject({ start_block: 280 });
  expect(await service.end('SIGTERM')).toBe(0);
  rmSync(data, { recursive: true, force: true });
});

test('limit: F-55 with a low open file limit, idle connections leave descriptors for the operator; error: open-files-too-few', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-few-files-'));
  await importSlots(data, 200, 205);
  const service = await ServiceProcess.startServeWithin(260, ['--data', data]);
  expect(service.log.join('')).toMatch(/"openFilesMax":260,"connections":\d\d,/);
  const { port } = new URL(service.url);
  const sockets = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      // Accepted, or closed immediately because the limit is reached.
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
      return socket;
    }),
  );
  expect((await fetch(`${service.adminUrl}/ready`)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  expect(await service.end('SIGTERM')).toBe(0);
  const tooFew = ServiceProcess.startServeWithin(64, ['--data', data]);
  await expect(tooFew).rejects.toThrow(/ulimit -n.*open-files-too-few/s);
  rmSync(data, { recursive: true, force: true });
});

test('error: I-75 L-10 a dataset that cannot be opened is not changed and raises an alarm, and the others are served', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-damaged-'));
  await importSlots(data, 200, 210);
  cpSync(join(data, 'mine'), join(data, 'other'), { recursive: true });
  const damaged = readFileSync(join(data, 'other', 'manifest.json'), 'utf8').replace('"', "'");
  writeFileSync(join(data, 'other', 'manifest.json'), damaged);
  const service = await ServiceProcess.startServe(['--data', data]);
  expect(await service.getJson('/datasets')).toMatchObject([{ dataset: 'mine' }]);
  expect((await service.get('/datasets/other/head')).status).toBe(503);
  expect(service.log.join('')).toContain('dataset-manifest-damaged');
  // L-10: the alarm is visible in every operator interface.
  const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
  expect(metrics).toContain('sluice_dataset_alarms{dataset="other",code="dataset-unavailable"} 1');
  const ready = await fetch(`${service.adminUrl}/ready`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', unavailable: ['other'] },
  ]);
  expect(service.text).toMatch(/other: NOT SERVED, dataset-manifest-damaged: .*restore/);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(readFileSync(join(data, 'other', 'manifest.json'), 'utf8')).toBe(damaged);
  rmSync(data, { recursive: true, force: true });
});

test('error: if the only dataset cannot be opened, its error is reported, with or without sources', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-damaged-alone-'));
  await importSlots(data, 200, 205);
  writeFileSync(join(data, 'mine', 'manifest.json'), '{');
  for (const feed of [[], ['--rpc', node.rpcUrl, '--dataset', 'mine']]) {
    const starting = ServiceProcess.startServe(['--data', data, ...feed]);
    await expect(starting).rejects.toThrow(
      /^(?!.*datasets-missing).*dataset mine, .*dataset-manifest-damaged/s,
    );
  }
  rmSync(data, { recursive: true, force: true });
});

test('error: I-76 a file that does not match its checksum raises an alarm when it is read and gives no data', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-flipped-'));
  await importSlots(data, 200, 210);
  const segments = join(data, 'mine', 'segments');
  const path = join(segments, readdirSync(segments)[0] as string);
  const bytes = readFileSync(path);
  // Damages every column, so that the test does not depend on the columns that a query reads.
  for (let at = 100; at < bytes.length / 2; at += 20) bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
  const service = await ServiceProcess.startServe(['--data', data]);
  const answer = await service.query('/datasets/mine/stream', { ...query, toBlock: 210 });
  expect([answer.status, await answer.json()]).toMatchObject([
    503,
    { error: { code: 'storage-unreachable' } },
  ]);
  const { alarms } = await service.getJson<{ alarms: object[] }>('/datasets/mine/status');
  expect(alarms).toMatchObject([
    { code: 'segment-damaged', message: expect.stringMatching(/^slots 20\d to 210: /) },
  ]);
  expect(await service.end('SIGTERM')).toBe(0);
  rmSync(data, { recursive: true, force: true });
});

test('error: --keep without --rpc has no effect and is rejected', async () => {
  const args = ['--data', folder, '--keep', '7d'];
  await expect(ServiceProcess.startServe(args)).rejects.toThrow('--keep needs --rpc');
});

test('error: datasets-missing: a folder without datasets is not served', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'sluice-empty-'));
  for (const data of [empty, join(empty, 'mistyped')]) {
    await expect(ServiceProcess.startServe(['--data', data])).rejects.toThrow('datasets-missing');
  }
  // A mistyped folder is not created.
  expect(readdirSync(empty)).toEqual([]);
  rmSync(empty, { recursive: true, force: true });
});

test('error: auth-undecided: listening beyond loopback requires an explicit choice', async () => {
  const args = ['--data', folder, '--host', '0.0.0.0'];
  await expect(ServiceProcess.startServe(args)).rejects.toThrow(/--auth none.*--keys FILE/);
});
