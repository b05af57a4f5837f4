/** Runs the built command as a user does: start and query. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type BlockRef,
  expectLinked,
  fields,
  linesOf,
  readBlocks,
  waitFor,
  waitForSlot,
} from './demo-blocks.ts';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
let demo: ServiceProcess;
let firstAnswer: Response;
beforeAll(async () => {
  demo = await ServiceProcess.startDemo(folder);
  firstAnswer = await demo.query('/datasets/ledger-beta/stream', { fromBlock: 0, toBlock: 0 });
});
afterAll(async () => {
  await demo.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('default: the demo prints its purpose, its addresses, its resource usage, and an example command', () => {
  expect(demo.text).toContain('ledger-beta');
  expect(demo.text).toContain(folder);
  expect(demo.text).toMatch(/about \d+\.\d GB a day, \d+\.\d GB free/);
  expect(demo.text).toContain(
    `curl -N --compressed -H 'Content-Type: application/json' ${demo.url}`,
  );
});

test('default: the printed example command works immediately', async () => {
  expect(firstAnswer.status).toBe(200);
  expect(await firstAnswer.text()).toContain('"number":0');
});

test('default: two datasets over one ledger, one from genesis, one from February 2025 (I-01)', async () => {
  await waitForSlot(demo, 'ledger-mainnet/finalized-head', 110);
  const list = await demo.getJson<{ dataset: string; start_block: number }[]>('/datasets');
  expect(list.map(({ dataset, start_block }) => [dataset, start_block])).toEqual([
    ['ledger-beta', 0],
    ['ledger-mainnet', 100],
  ]);
  await waitForSlot(demo, 'ledger-beta/finalized-head', 110);
  const beta = await readBlocks(demo, 'ledger-beta', [0, 110]);
  const mainnet = await readBlocks(demo, 'ledger-mainnet', [100, 110]);
  expectLinked(beta);
  expect(beta[0]?.header.number).toBe(0);
  expect(mainnet).toEqual(beta.filter(({ header }) => header.number >= 100));
  const firstDay = new Date((mainnet[0]?.header.timestamp ?? 0) * 1000).toISOString();
  expect(firstDay).toMatch(/^2025-02-01/);
});

test('default: only one of the two datasets stores vote transactions', async () => {
  const countVotes = async (dataset: string) => {
    const programId = 'Vote111111111111111111111111111111111111111';
    const body = { fromBlock: 100, toBlock: 110, instructions: [{ programId }] };
    const response = await demo.query(`/datasets/${dataset}/stream`, body);
    return (await response.text()).split(programId).length - 1;
  };
  expect(await countVotes('ledger-mainnet')).toBeGreaterThan(0);
  expect(await countVotes('ledger-beta')).toBe(0);
});

test('behavior: ready, health and metrics are on the operator listener only (S-02)', async () => {
  await waitFor(async () =>
    (await fetch(`${demo.adminUrl}/ready`)).status === 200 ? true : undefined,
  );
  expect((await fetch(`${demo.adminUrl}/health`)).status).toBe(200);
  const metrics = await (await fetch(`${demo.adminUrl}/metrics`)).text();
  expect(metrics).toMatch(/sluice_dataset_head_slot\{dataset="ledger-beta"\} \d+/);
  expect((await demo.get('/metrics')).status).toBe(404);
});

test('behavior: lines keep arriving, and a reported head can be streamed (I-60)', async () => {
  const head = await demo.getJson<BlockRef>('/datasets/ledger-beta/head');
  const body = { fromBlock: head.number, toBlock: head.number + 6, fields, includeAllBlocks: true };
  const response = await demo.query('/datasets/ledger-beta/stream', body);
  const lines = linesOf(await response.text());
  expectLinked(lines);
  expect(lines.length).toBeGreaterThan(2);
});

test('behavior: a response has filtered records, compression and the head headers', async () => {
  const finalized = await waitForSlot(demo, 'ledger-beta/finalized-head', 120);
  const response = await fetch(`${demo.url}/datasets/ledger-beta/finalized-stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: JSON.stringify({ fromBlock: 0, toBlock: 120, fields, tokenBalances: [{}] }),
  });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  const number = Number(response.headers.get('x-ledger-finalized-head-number'));
  expect(number).toBeGreaterThanOrEqual(finalized.number);
  const lines = linesOf(await response.text());
  expect(lines.some(({ tokenBalances }) => (tokenBalances?.length ?? 0) > 0)).toBe(true);
});

test('error: invalid requests get the documented statuses', async () => {
  const path = '/datasets/ledger-mainnet/stream';
  const statuses = await Promise.all([
    demo.query(path, { fromBlock: 99 }),
    demo.query(path, { fromBlock: 100, toBlok: 1 }),
    demo.query('/datasets/nope/stream', { fromBlock: 0 }),
    demo.query(path, { fromBlock: 105, parentBlockHash: 'wrong' }),
    demo.query(path, { fromBlock: 10_000_000 }),
    demo.get('/datasets/ledger-mainnet/stream'),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([400, 400, 404, 409, 204, 405]);
  const conflict = (await statuses[3]?.json()) as { previousBlocks: BlockRef[] };
  expect(conflict.previousBlocks.map(({ number }) => number)).toEqual([
    99, 100, 101, 102, 103, 104,
  ]);
});

test('error: a second process on the same folder is rejected', async () => {
  await expect(ServiceProcess.startDemo(folder)).rejects.toThrow('data-folder-locked');
});

test('limit: the demo logs less than one line per ten blocks (S-11)', async () => {
  const head = await demo.getJson<BlockRef>('/datasets/ledger-beta/head');
  expect(demo.log.length).toBeLessThan(head.number / 10);
});
