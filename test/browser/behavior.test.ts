/** Events while a page is open: forks, a killed service, searches. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeBase58 } from '../../packages/client/src/client.ts';
import { encodeQuery } from '../../packages/web/src/pages/workbench/query-link.ts';
import { BrowserWorld, dataset } from './browser-world.ts';
import { listPages } from './page-list.ts';

const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
let world: BrowserWorld;
beforeAll(async () => {
  world = await BrowserWorld.start();
});
afterAll(() => world.close());

test('behavior: a fork is shown as a branch of orphaned blocks, and the chain continues', async () => {
  const watched = await world.open(`/live/${dataset}`);
  const { page } = watched;
  await page.waitForSelector('.flow-row a');
  // The page follows once it shows a new block. It would not see a fork before that.
  await untilHeadAbove(page, await readHead(page));
  world.node.faults.set({ kind: 'fork', depth: 3, forSlots: 4 });
  await page.waitForSelector('.flow-row.orphaned .badge.bad', { timeout: 60_000 });
  expect(await page.locator('.edge.orphaned').count()).toBeGreaterThan(0);
  expect(await page.locator('.cross').count()).toBeGreaterThan(0);
  await untilHeadAbove(page, await readHead(page));
  await page.waitForSelector('.finality');
  // The client detects a fork by a 409, which browsers write to the console.
  const faults = await watched.findFaults();
  expect(faults.filter((fault) => !fault.includes('status of 409'))).toEqual([]);
  await watched.close();
  world.node.faults.clear({});
});

async function readHead(page: Page): Promise<number> {
  return Number((await page.textContent('.live-figures dd'))?.replaceAll(',', ''));
}

async function untilHeadAbove(page: Page, head: number): Promise<void> {
  await page.waitForFunction(
    (old) =>
      Number(document.querySelector('.live-figures dd')?.textContent?.replaceAll(',', '')) > old,
    head,
  );
}

test('behavior: the search accepts a slot, a signature, an address, a name and a time, and explains other texts', async () => {
  const pages = await listPages(world);
  const pathOf = (name: string) => pages.find((one) => one.name === name)?.path ?? '';
  const signature = pathOf('transaction').split('/').at(-1) ?? '';
  const address = pathOf('account').split('/').at(-1) ?? '';
  const { page } = await world.open('/');
  await page.waitForSelector('.card');
  const search = async (text: string, path: string | RegExp) => {
    await page.fill('.search input', text);
    await page.keyboard.press('Enter');
    await page.waitForURL(typeof path === 'string' ? `${world.url}${path}` : path);
  };
  await search('12', `/block/${dataset}/12`);
  await search(signature, `/transaction/${dataset}/${signature}`);
  await search(address, `/account/${dataset}/${address}`);
  await search('token 2022', `/program/${dataset}/TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb`);
  // A program without a name is recognized by its calls.
  const unnamed = '1nc1nerator11111111111111111111111111111111';
  await page.route(`**/accounts/${unnamed}/**`, async (route) => {
    const url = route.request().url().replace(unnamed, token);
    const body = await (await fetch(url)).text();
    await route.fulfill({ body: body.replaceAll(token, unnamed), contentType: 'application/json' });
  });
  await search(unnamed, `/program/${dataset}/${unnamed}`);
  await search('2026-01-01', new RegExp(`/block/${dataset}/\\d+$`));
  await page.fill('.search input', 'hello, world');
  await page.keyboard.press('Enter');
  expect(await page.textContent('.search-note')).toContain('Enter a slot');
  await page.context().close();
});

test('behavior: on a phone the amounts of a transaction fit the screen', async () => {
  const transfer = await findTransfer();
  const options = { viewport: { width: 390, height: 844 } };
  const { page } = await world.open(`/transaction/${dataset}/${transfer.signature}`, options);
  await page.waitForSelector('.changes .number');
  const ends = await page.$$eval('.changes .number, .changes .change-token', (cells) =>
    cells.map((cell) => cell.getBoundingClientRect().right),
  );
  expect(ends.length).toBeGreaterThan(2);
  expect(Math.max(...ends)).toBeLessThanOrEqual(390);
  await page.context().close();
});

test('behavior: the amount of a checked transfer has its decimals and the symbol of its token', async () => {
  const transfer = await findTransfer();
  const { page } = await world.open(`/transaction/${dataset}/${transfer.signature}`);
  await page.waitForSelector('.call');
  const texts = await page.$$eval('.call-name', (names) => names.map((name) => name.textContent));
  const shown = texts.filter((text) => text?.includes('TransferChecked'));
  expect(shown.some((text) => text?.includes(`amount ${transfer.amount} USD`))).toBe(true);
  await page.context().close();
});

test('behavior: a call shows its arguments and the names of its accounts', async () => {
  const transfer = await findTransfer();
  const { page } = await world.open(`/transaction/${dataset}/${transfer.signature}`);
  await page.waitForSelector('.call');
  const texts = await page.$$eval('.call-body', (bodies) => bodies.map((body) => body.textContent));
  const shown = texts.filter((text) => text?.includes('Argumentsamount'));
  expect(shown.some((text) => text?.includes('authority') && text.includes('IDLtoken'))).toBe(true);
  await page.context().close();
});

test('behavior: decoded calls in results and live lead to the open call with its raw bytes', async () => {
  const query = {
    fromBlock: 0,
    toBlock: 100,
    fields: {
      block: { number: true },
      instruction: { transactionIndex: true, instructionAddress: true, decoded: true },
    },
    instructions: [{ programId: [token], name: ['transferChecked'] }],
  };
  const watched = await world.open(`/workbench/${dataset}${encodeQuery(JSON.stringify(query))}`);
  const { page } = watched;
  await page.click('button:has-text("Run")');
  const call = page.locator('.record-row a', { hasText: 'transferChecked' }).first();
  await call.waitFor();
  expect(await page.textContent('.record-row:has-text("transferChecked")')).toContain('amount ');
  await expectOpenCall(page, () => call.click());
  await page.goto(`${world.url}/live/${dataset}`);
  await page.selectOption('select[aria-label="Program"]', token);
  const live = page.locator('.live-call', { hasText: 'transfer' }).first();
  await live.waitFor({ timeout: 60_000 });
  await expectOpenCall(page, () => live.locator('a').nth(1).click());
  await watched.expectSound();
  await watched.close();
});

async function expectOpenCall(page: Page, follow: () => Promise<void>): Promise<void> {
  await follow();
  await page.waitForURL(/\/transaction\/.*call=[\d.]+$/);
  const open = page.locator('.call details[open]');
  await open.waitFor();
  expect(await open.count()).toBe(1);
  const text = await open.textContent();
  expect(text).toContain('IDLtoken');
  expect(text).toMatch(/Data\w+/);
}

/** Returns a transaction with a checked transfer of the token USD, and the amount as text. */
async function findTransfer(): Promise<{ readonly signature: string; readonly amount: string }> {
  const mint = '2pg5tjUJeQg1Z4S1nPqAk8U9nSk4c6V15JTRPXgkxB8F';
  const [line] = await world.post<{
    readonly transactions: readonly { readonly signatures: readonly string[] }[];
    readonly instructions: readonly { readonly data: string }[];
  }>('/stream', {
    fromBlock: 0,
    fields: {
      transaction: { signatures: true },
      instruction: { data: true },
    },
    toBlock: 100,
    instructions: [{ d1: '0x0c', a1: mint, isCommitted: true, transaction: true }],
  });
  const data = decodeBase58(line?.instructions[0]?.data ?? '');
  const digits = Buffer.from(data).readBigUInt64LE(1).toString().padStart(20, '0');
  const decimals = data[9] ?? 0;
  const whole = digits.slice(0, -decimals).replace(/^0+(?=\d)/, '');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const grouped = Number(whole).toLocaleString('en-US');
  return {
    signature: line?.transactions[0]?.signatures[0] ?? '',
    amount: fraction === '' ? grouped : `${grouped}.${fraction}`,
  };
}

test('behavior: the age of the blocks of a simulated ledger is not shown as a lag', async () => {
  const { page } = await world.open('/');
  await page.route('**/status', async (route) => {
    const response = await route.fetch();
    const status = { ...((await response.json()) as object), head_lag_seconds: 320 * 86_400 };
    await route.fulfill({ response, json: { ...status, behind_slots: 0 } });
  });
  await page.reload();
  const lag = page.locator('.card-figures > div', { hasText: 'Lag' });
  await lag.waitFor();
  expect(await lag.textContent()).toBe('Lag0 slots dated 320 d 0 h ago');
  expect(await lag.locator('.warn').count()).toBe(0);
  await page.context().close();
});

test('behavior: older transactions of an account are loaded backwards', async () => {
  const watched = await world.open(`/account/${dataset}/${token}`);
  const { page } = watched;
  await page.waitForSelector('.history-slot a');
  const slots = () =>
    page.$$eval('.history-slot a', (links) =>
      links.map((link) => Number(link.textContent?.replaceAll(',', ''))),
    );
  const first = await slots();
  await page.click('text=Load older transactions');
  await page.waitForFunction(
    (count) => document.querySelectorAll('.history-row').length > count,
    first.length,
  );
  const all = await slots();
  expect(all.slice(0, first.length)).toEqual(first);
  expect(all).toEqual([...all].sort((a, b) => b - a));
  await watched.expectSound();
  await watched.close();
});

test('behavior: the documentation can be searched, and its queries open in the workbench', async () => {
  const watched = await world.open('/docs');
  const { page } = watched;
  await page.fill('.docs-search', 'parentBlockHash');
  await page.waitForSelector('.docs-found a');
  await page.click('.docs-found a >> nth=0');
  await page.waitForSelector('.prose h1');
  await page.goto(`${world.url}/docs/query`);
  await page.click('.try >> nth=0');
  await page.waitForURL(new RegExp(`/workbench/${dataset}`));
  await page.waitForSelector('.item');
  expect(await page.inputValue('.range-fields input >> nth=0')).toBe('100');
  await watched.expectSound();
  await watched.close();
});

test('behavior: a killed service is reported immediately, and the page continues by itself after a restart', async () => {
  const { page } = await world.open('/');
  await page.waitForSelector('.card');
  await world.kill();
  await page.waitForSelector('.banner', { timeout: 5_000 });
  expect(await page.textContent('.connection')).toContain('Offline');
  await world.restart();
  await page.waitForSelector('.banner', { state: 'detached', timeout: 30_000 });
  const head = () => page.textContent('.figures dd >> nth=0');
  const before = await head();
  await page.waitForFunction(
    (old) => document.querySelector('.figures dd')?.textContent !== old,
    before,
  );
  await page.context().close();
});
