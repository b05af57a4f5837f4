/** Tests a service whose heap is too small for its load. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { encodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-heap-'));
const smallHeap = '--max-old-space-size=64';
let service: ServiceProcess;

beforeAll(async () => {
  const blocks = join(folder, 'blocks.jsonl');
  const ignored = { out: new PassThrough().resume(), err: new PassThrough().resume() };
  const made = ['simulate', '--blocks', '20', '--profile', 'demo', '--out', blocks];
  expect(await main(made, ignored)).toBe(0);
  const imported = ['import', '--data', join(folder, 'data'), '--dataset', 'mine', blocks];
  expect(await main(imported, ignored)).toBe(0);
});
afterEach(() => service.end('SIGKILL'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

const head = () => service.getJson<BlockRef>('/datasets/mine/head');

const addressOf = (text: string) => encodeBase58(createHash('sha256').update(text).digest());

/** Returns a query with ten thousand addresses, the maximum. The first one depends on `salt`. */
function largeQuery(fromBlock: number, salt: number): string {
  const lists = addressLists.map((list, i) => (i > 0 ? list : [addressOf(`${salt}`), ...list]));
  const items = lists.map((list) => ({ mentionsAccount: list.slice(0, 1_000) }));
  return JSON.stringify({ fromBlock, transactions: items });
}

const addressLists = Array.from({ length: 10 }, (_, i) =>
  Array.from({ length: 1_000 }, (_, k) => addressOf(`${i} ${k}`)),
);

test('limit: F-44 queries that would exhaust the heap are rejected', async () => {
  const config = join(folder, 'sluice.yaml');
  const limits =
    'limits: { http: { queryBytesMax: 2500000 }, stream: { quietMsMax: 600000, followMsMax: 600000 } }';
  // A source that never answers: streams are held open, and no block comes.
  const dataset =
    '  - name: mine\n    sources: [{ kind: rpc, url: "http://127.0.0.1:9", ws: none }]\n';
  writeFileSync(config, `data: ./data\n${limits}\ndatasets:\n${dataset}`);
  service = await ServiceProcess.startServe(['--config', config], { NODE_OPTIONS: smallHeap });
  const { number } = await head();
  const path = '/datasets/mine/stream';
  // The streams follow, so that all are open at once. Without rejection about thirty of them exhaust this heap.
  const open: Response[] = [];
  const codes: string[] = [];
  for (let salt = 0; salt < 40; salt++) {
    const response = await service.post(path, largeQuery(number, salt));
    if (response.status === 200) open.push(response);
    else codes.push(((await response.json()) as { error: { code: string } }).error.code);
  }
  expect(open.length).toBeGreaterThan(3);
  expect(new Set(codes)).toEqual(new Set(['queries-full']));
  // Requests without a query still work, and streams that end free their share.
  expect((await head()).number).toBe(number);
  for (const response of open) await response.body?.cancel();
  let status = 503;
  while (status === 503) ({ status } = await service.post(path, largeQuery(number, 0)));
  expect(status).toBe(200);
});

test('behavior: F-44 an exhausted heap is like a kill: responses are recognizably incomplete, and no visible block is lost', async () => {
  const node = await startSimulatedNode({ chain: { startSlot: 230 } }, { clock: systemClock });
  const follow = ['--rpc', node.rpcUrl, '--ws', node.wsUrl, '--dataset', 'mine', '--from', '200'];
  const args = ['--data', join(folder, 'followed'), ...follow];
  const fillHeap = fileURLToPath(new URL('./fill-heap.mjs', import.meta.url));
  try {
    service = await ServiceProcess.startServe(args, {
      NODE_OPTIONS: `${smallHeap} --import ${fillHeap}`,
    });
    while (((await head())?.number ?? 0) < 230) await systemClock.sleep(50);
    const stream = await service.query('/datasets/mine/stream', { fromBlock: 200 });
    const shown = await head();
    const ended = service.end('SIGUSR2');
    await expect(stream.text()).rejects.toThrow();
    expect(await ended).toBe('SIGABRT');
    service = await ServiceProcess.startServe(['--data', join(folder, 'followed')]);
    expect((await head()).number).toBeGreaterThanOrEqual(shown.number);
    const range = { fromBlock: 200, toBlock: shown.number, includeAllBlocks: true };
    const fields = { block: { number: true, hash: true } };
    const answer = await service.query('/datasets/mine/stream', { ...range, fields });
    const lines = (await answer.text()).trimEnd().split('\n');
    const blocks = lines.map((line) => (JSON.parse(line) as { header: BlockRef }).header);
    const expected = Array.from({ length: shown.number - 199 }, (_, i) => 200 + i).flatMap(
      (slot) => node.ledger.chain.blockAt(slot) ?? [],
    );
    expect(blocks.map(({ hash }) => hash)).toEqual(expected.map(({ blockhash }) => blockhash));
  } finally {
    await node.close();
  }
});
