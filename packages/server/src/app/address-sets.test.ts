/** Sets of addresses through the listener for operators, in queries over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import { ARROW_STREAM_TYPE } from '@sluice/protocol/arrow-table';
import { memberOf } from '@sluice/protocol/unknown-value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MATCH, makeHash } from '../stream/testing/make-block.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { type Portal, startPortal } from './testing/start-portal.ts';

let data: string;
let dataset: MemoryDataset;
let portal: Portal;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'sluice-sets-'));
  dataset = new MemoryDataset({ anchor: 98 });
  dataset.extend([100, 101, 102, 103, 106, 107, 108, 109, 110]);
  dataset.finalize(103);
  portal = await startPortal(dataset, data);
});
afterEach(async () => {
  await portal.close();
  rmSync(data, { recursive: true });
});

const others = Array.from({ length: 300 }, (_, i) => makeHash('s', i));

async function put(name: string, addresses: readonly string[]): Promise<string> {
  const sent = { method: 'PUT', body: addresses.join('\n') };
  const response = await fetch(`${portal.adminUrl}/sets/${name}`, sent);
  expect(response.status).toBe(200);
  return String(memberOf(await response.json(), 'version'));
}

function send(path: string, body: object, accept = 'application/jsonl') {
  const headers = { 'content-type': 'application/json', accept };
  return fetch(`${portal.url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const range = { fromBlock: 100, toBlock: 110 };
const wanted = (pubkey: unknown) => ({ ...range, rewards: [{ pubkey }] });

test('default: a query with a set has the records of a query with its addresses: lines, Arrow, count and estimate', async () => {
  const version = await put('mine', [...others, MATCH]);
  const bySet = { ...wanted({ set: 'mine' }), toBlock: 103 };
  const byList = { ...wanted([MATCH]), toBlock: 103 };
  for (const path of ['stream', 'finalized-stream', 'count', 'estimate']) {
    const response = await send(path, bySet);
    expect(response.headers.get('sluice-sets')).toBe(`mine=${version}`);
    const expected = await (await send(path, byList)).text();
    expect(await response.text()).toBe(expected);
    expect(expected).not.toBe('');
  }
  const rows = async (body: object) => {
    const response = await send('stream?table=rewards', body, ARROW_STREAM_TYPE);
    const batches = new ArrowStreamReader().push(new Uint8Array(await response.arrayBuffer()));
    return batches.map(({ columns }) => columns);
  };
  expect(await rows(bySet)).toEqual(await rows(byList));
});

test('behavior: a set and addresses can be in one list, and a set without a match selects nothing', async () => {
  await put('others', others);
  const expected = await (await send('stream', wanted([MATCH]))).text();
  const both = await send('stream', wanted([{ set: 'others' }, MATCH]));
  expect(await both.text()).toBe(expected);
  const none = await send('count', wanted({ set: 'others' }));
  expect(await none.json()).toMatchObject({ rewards: 0, blocks: 0 });
});

test('behavior: a stream at the head keeps its version, and a continuation can name it', async () => {
  const version = await put('mine', [MATCH]);
  const response = await send('stream', { fromBlock: 100, rewards: [{ pubkey: { set: 'mine' } }] });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await put('mine', others);
  dataset.extend([111], 'a', () => true);
  let text = '';
  while (!text.includes('"number":111')) {
    const chunk = await reader?.read();
    if (chunk?.done !== false) break;
    text += Buffer.from(chunk.value).toString();
  }
  expect(text).toContain(MATCH);
  await reader?.cancel();
  const count = async (set: object) => (await send('count', wanted(set))).json();
  expect(memberOf(await count({ set: 'mine' }), 'rewards')).toBe(0);
  expect(memberOf(await count({ set: 'mine', version }), 'rewards')).toBeGreaterThan(0);
});

test('error: query-set-unknown names the set and says how to create it; query-set-changed has the current version', async () => {
  const unknown = await send('stream', wanted({ set: 'mine' }));
  expect(unknown.status).toBe(400);
  const text = await unknown.text();
  for (const part of ['query-set-unknown', '"rewards[0].pubkey.set"', 'mine', 'sluice sets put'])
    expect(text).toContain(part);
  const version = await put('mine', [MATCH]);
  const changed = await send('count', wanted([{ set: 'mine', version: '0123456789abcdef' }]));
  expect(changed.status).toBe(400);
  const changedText = await changed.text();
  for (const part of ['query-set-changed', '"rewards[0].pubkey[0].version"', version])
    expect(changedText).toContain(part);
});

test('behavior: sets are listed and removed, and bad requests are refused', async () => {
  const version = await put('mine', [MATCH, MATCH]);
  const at = (path: string, method = 'GET', body?: string) =>
    fetch(`${portal.adminUrl}${path}`, { method, ...(body === undefined ? {} : { body }) });
  const list = await (await at('/sets')).json();
  expect(list).toMatchObject([{ name: 'mine', version, addresses: 1 }]);
  expect(await (await at('/sets/absent')).json()).toEqual([]);
  const refusals: [Promise<Response>, number, string][] = [
    [at('/sets/mine', 'PUT', 'x'), 400, 'set-invalid'],
    [at('/sets/a.b', 'PUT', MATCH), 404, 'operator-path-unknown'],
    [at('/setsmine'), 404, 'operator-path-unknown'],
    [at('/sets', 'PUT', MATCH), 405, 'method-wrong'],
    [at('/sets/absent', 'DELETE'), 404, 'set-unknown'],
  ];
  for (const [response, status, code] of refusals) {
    expect([(await response).status, await (await response).text()]).toEqual([
      status,
      expect.stringContaining(code),
    ]);
  }
  expect((await at('/sets/mine', 'DELETE')).status).toBe(200);
  expect((await send('stream', wanted({ set: 'mine' }))).status).toBe(400);
});
