import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { createClient } from '../create-client.ts';
import { fileCursor } from '../file-cursor.ts';
import { codeOf, collect } from '../testing/collect.ts';
import { StubFetch } from '../testing/stub-fetch.ts';
import type { CursorState } from './cursor.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-cursor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const url = 'http://service.test/datasets/a';
const line = (number: number) => `{"header":{"number":${number},"hash":"h${number}"}}\n`;

/** A service with one block per response. */
function createService() {
  return new StubFetch(({ init }) => {
    const { fromBlock } = JSON.parse(String(init.body)) as { fromBlock: number };
    return { status: 200, body: line(fromBlock) };
  });
}

test('default: a file has the cursor of the last batch that the consumer has finished', async () => {
  const path = join(folder, 'a.json');
  const { fetch, calls } = createService();
  const client = createClient({ url, fetch });
  const read = () => JSON.parse(readFileSync(path, 'utf8')) as CursorState;
  const stream = client.stream({ fromBlock: 7 }, { cursor: fileCursor(path) });
  await stream.next();
  expect(readdirSync(folder)).toEqual([]);
  await stream.next();
  expect(read()).toEqual({ blocks: [{ number: 7, hash: 'h7' }], from: 7 });
  // The second batch was not finished, so it is delivered again.
  await stream.return?.();
  const query = { fromBlock: 7, toBlock: 9 };
  const batches = await collect(client.stream(query, { cursor: fileCursor(path) }));
  expect(batches.map(({ cursor }) => cursor.blocks.at(-1)?.number)).toEqual([8, 9]);
  expect(read().blocks.at(-1)).toEqual({ number: 9, hash: 'h9' });
  expect(readdirSync(folder)).toEqual(['a.json']);
  const resumed = calls.map(({ init }) => JSON.parse(String(init.body)) as Record<string, unknown>);
  expect(resumed[2]).toMatchObject({ fromBlock: 8, parentBlockHash: 'h7' });
  // The whole range is stored, so no request is sent.
  const before = calls.length;
  expect(await collect(client.stream(query, { cursor: fileCursor(path) }))).toEqual([]);
  expect(calls).toHaveLength(before);
});

test('behavior: a cursor without save is stored by the consumer, and a plain state can be passed', async () => {
  const { fetch } = createService();
  const client = createClient({ url, fetch });
  const state = { blocks: [{ number: 3, hash: 'h3' }] };
  const cursor = { load: async () => state };
  for (const given of [cursor, { load: () => state }, state]) {
    const [batch] = await collect(client.stream({ fromBlock: 0, toBlock: 4 }, { cursor: given }));
    expect(batch).toMatchObject({ blocks: [{ header: { number: 4 } }] });
  }
  const none = { load: async () => null };
  const first = await collect(client.stream({ fromBlock: 4, toBlock: 4 }, { cursor: none }));
  expect(first).toHaveLength(1);
});

test('behavior: a rollback is saved before it is delivered, so that a consumer that stops then does not resume above it', async () => {
  const previousBlocks = [{ number: 2, hash: 'h2' }];
  const fetch = async () => new Response(JSON.stringify({ previousBlocks }), { status: 409 });
  const saved: unknown[] = [];
  const cursor = {
    load: async () => ({ blocks: [2, 3].map((number) => ({ number, hash: `h${number}` })) }),
    save: async (state: unknown) => void saved.push(state),
  };
  const stream = createClient({ url, fetch }).stream({ fromBlock: 0 }, { cursor });
  const { value } = await stream.next();
  expect(value).toMatchObject({ kind: 'rollback', to: previousBlocks[0] });
  expect(saved).toMatchObject([{ blocks: previousBlocks }]);
  await stream.return?.();
  expect(saved).toHaveLength(1);
});

test.each([
  '',
  'null',
  '{}',
  '{"blocks":[]}',
  '{"blocks":[{"number":2,"hash":"a"},{"number":1,"hash":"b"}]}',
])('error: cursor-invalid for a file that contains %j', async (text) => {
  const path = join(folder, 'bad.json');
  writeFileSync(path, text);
  const client = createClient({ url, fetch: createService().fetch });
  const stream = client.stream({ fromBlock: 0 }, { cursor: fileCursor(path) });
  expect(await codeOf(stream.next())).toBe('cursor-invalid');
});

test('error: cursor-failed when the cursor cannot be written', async () => {
  const client = createClient({ url, fetch: createService().fetch });
  const cursor = fileCursor(join(folder, 'no', 'such', 'folder.json'));
  const stream = client.stream({ fromBlock: 0 }, { cursor });
  await stream.next();
  expect(await codeOf(stream.next())).toBe('cursor-failed');
});

test('behavior: a saved cursor survives a power loss: its file and then its folder are synchronized', async () => {
  const path = join(folder, 'synced.json');
  const handle = await open(folder);
  const synced: string[] = [];
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockImplementation(async function (
    this: typeof handle,
  ) {
    const kind = (await this.stat()).isDirectory() ? 'folder' : 'file';
    synced.push(
      `${kind}, ${readdirSync(folder).includes('synced.json') ? 'renamed' : 'not renamed'}`,
    );
  });
  await fileCursor(path).save({ blocks: [{ number: 7, hash: 'h7' }], from: 7 });
  sync.mockRestore();
  await handle.close();
  expect(synced).toEqual(['file, not renamed', 'folder, renamed']);
});
