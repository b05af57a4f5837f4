/** The pages in a browser, each with one of `shapes`. These browser tests are quick enough for `npm test`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserWorld } from './browser-world.ts';
import { findBrowser, missingBrowser } from './find-browser.ts';
import { listPages } from './page-list.ts';
import { shapes } from './shapes.ts';

const hasBrowser = findBrowser() !== undefined;
if (!hasBrowser) {
  process.stderr.write(`The tests of the web application are skipped: ${missingBrowser}.\n`);
}

describe.skipIf(!hasBrowser)('the web application', () => {
  let world: BrowserWorld;
  beforeAll(async () => {
    world = await BrowserWorld.start({ blockCount: 80 });
  });
  afterAll(() => world.close());

  test('default: every page shows its data without errors, violations of axe, or horizontal scrolling', async () => {
    const pages = await listPages(world);
    const found: string[] = [];
    for (const [shape, { name: _, ...options }] of shapes.entries()) {
      const own = pages.filter((_, page) => page % shapes.length === shape);
      found.push(...(await world.findFaults(own, options)));
    }
    expect(found).toEqual([]);
  });

  test('behavior: a query runs in the workbench', async () => {
    const { page } = await world.open(pathOfWorkbench(await listPages(world)));
    await page.click('.run-button:not([disabled])');
    await page.waitForSelector('.run-summary .badge.ok');
    expect(await page.locator('.record-row').count()).toBeGreaterThan(5);
    await page.context().close();
  });
});

function pathOfWorkbench(pages: Awaited<ReturnType<typeof listPages>>): string {
  return pages.find(({ name }) => name === 'workbench')?.path ?? '';
}
