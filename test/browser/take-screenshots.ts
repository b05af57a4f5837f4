/** Writes a screenshot of every page and state to a folder, for review by people: `npm run screenshots`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { encodeQuery } from '../../packages/web/src/pages/workbench/query-link.ts';
import { BrowserWorld, dataset } from './browser-world.ts';
import { listPages } from './page-list.ts';
import { shapes } from './shapes.ts';

export async function takeScreenshots(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const world = await BrowserWorld.start({ blockCount: 200 });
  try {
    await capturePages(world, folder);
    await captureStates(world, folder);
  } finally {
    await world.close();
  }
}

/** Captures every page with every size and theme of `shapes`. */
async function capturePages(world: BrowserWorld, folder: string): Promise<void> {
  const pages = await listPages(world);
  for (const { name: shape, ...options } of shapes) {
    for (const { name, path, ready } of pages) {
      const { page } = await world.open(path, options);
      await page.waitForSelector(ready, { state: 'attached' });
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
      await page.screenshot({ path: join(folder, `${name}-${shape}.png`) });
      await page.context().close();
    }
  }
}

type Shoot = (name: string, path: string, act: (page: Page) => Promise<unknown>) => Promise<void>;

/** Captures states that a page shows only for a short time. */
async function captureStates(world: BrowserWorld, folder: string): Promise<void> {
  const shoot: Shoot = async (name, path, act) => {
    const { page } = await world.open(path);
    await act(page);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await page.context().close();
  };
  await shoot('state-fork', `/live/${dataset}`, async (page) => {
    await page.waitForSelector('.flow-row');
    world.node.faults.set({ kind: 'fork', depth: 3, forSlots: 4 });
    await page.waitForSelector('.flow-row.orphaned', { timeout: 60_000 });
  });
  await captureWorkbench(shoot);
  await captureFailures(world, shoot);
  const unused = '1nc1nerator11111111111111111111111111111111';
  await shoot('state-empty', `/account/${dataset}/${unused}`, (page) =>
    page.waitForSelector('.notice'),
  );
  await shoot('state-docs-search', '/docs', async (page) => {
    await page.fill('.docs-search', 'parentBlockHash');
    await page.waitForSelector('.docs-found a');
  });
  await shoot('state-print', `/live/${dataset}`, async (page) => {
    await page.waitForSelector('.flow-row a');
    await page.emulateMedia({ media: 'print' });
  });
}

async function captureWorkbench(shoot: Shoot): Promise<void> {
  const query = { fromBlock: 0, toBlock: 150, instructions: [{ transaction: true }] };
  for (const view of ['Table', 'Tree', 'JSON']) {
    await shoot(
      `state-results-${view.toLowerCase()}`,
      `/workbench/${dataset}${encodeQuery(JSON.stringify(query))}`,
      async (page) => {
        await page.click('.run-button:not([disabled])');
        await page.waitForSelector('.run-summary .badge.ok');
        await page.click(`.results .segmented button:has-text("${view}")`);
        await page.locator('.results').scrollIntoViewIfNeeded();
      },
    );
  }
  await shoot(
    'state-query-problems',
    `/workbench/${dataset}${encodeQuery('{"fromBlock": 1, "logs": [{"kind": "x"}]}')}`,
    (page) => page.waitForSelector('.problems'),
  );
  await shoot(
    'state-large-scan',
    `/workbench/${dataset}${encodeQuery(JSON.stringify(query))}`,
    async (page) => {
      await page.route('**/estimate', async (route) => {
        const response = await route.fetch();
        const json = { ...((await response.json()) as object), bytesToRead: 5_000_000_000 };
        await route.fulfill({ response, json });
      });
      await page.reload();
      await page.waitForSelector('.estimate.warn');
      await page.click('.run-button');
      await page.waitForSelector('[role=alertdialog]');
    },
  );
}

/** Captures loading, errors, alarms and missing keys. */
async function captureFailures(world: BrowserWorld, shoot: Shoot): Promise<void> {
  await shoot('state-loading', '/', async (page) => {
    await page.route('**/datasets/*/activity*', () => undefined);
    await page.goto(`${world.url}/activity/${dataset}`);
    await page.waitForSelector('.skeleton');
  });
  await shoot('state-error', '/', async (page) => {
    const error = { code: 'internal-error', message: 'the request failed inside the service' };
    await page.route('**/datasets/*/activity*', (route) =>
      route.fulfill({ status: 500, json: { error } }),
    );
    await page.goto(`${world.url}/activity/${dataset}`);
    await page.waitForSelector('[role=alert]');
  });
  await shoot('state-connection-lost', '/', async (page) => {
    await page.waitForSelector('.card');
    await page.route('**/datasets/**', (route) => route.abort());
    await page.route('**/datasets', (route) => route.abort());
    await page.waitForSelector('.banner');
  });
  await shoot('state-key-wrong', '/', async (page) => {
    await page.route('**/datasets*', (route) => route.fulfill({ status: 401, body: '{}' }));
    await page.reload();
    await page.fill('.key-prompt input', 'wrong');
    await page.click('.key-prompt button');
    await page.waitForSelector('.key-prompt [role=alert]');
  });
  await shoot('state-alarm', '/', async (page) => {
    await page.route('**/status', async (route) => {
      const response = await route.fetch();
      const alarm = {
        code: 'sources-down',
        message: 'no source has answered for 60 s',
        sinceUnixMs: Date.parse('2026-11-16'),
      };
      await route.fulfill({
        response,
        json: { ...((await response.json()) as object), alarms: [alarm] },
      });
    });
    await page.waitForSelector('.callout.bad');
  });
}
