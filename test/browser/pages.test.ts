/** Tests every page in light and dark colours, from a phone to a very large screen. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BrowserWorld } from './browser-world.ts';
import type { ListedPage } from './listed-page.ts';
import { listPages } from './page-list.ts';
import { shapes } from './shapes.ts';

let world: BrowserWorld;
let pages: readonly ListedPage[];
beforeAll(async () => {
  world = await BrowserWorld.start();
  pages = await listPages(world);
});
afterAll(() => world.close());

for (const { name, ...options } of shapes) {
  // Two at a time: each waits for the service half of the time.
  test.concurrent(`default: with the screen ${name} every page shows its data, without errors, violations of axe, or sideways scrolling`, async () => {
    expect(await world.findFaults(pages, options)).toEqual([]);
  });
}

test('limit: the first load is at most 200 kB compressed, and the overview shows data within seconds', async () => {
  const { page } = await world.open('/');
  await page.waitForSelector('.card');
  const sizes = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.includes('/assets/'))
      .map((entry) => (entry as PerformanceResourceTiming).encodedBodySize),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(sizes.length).toBeGreaterThan(2);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(200_000);
  await page.context().close();
});

test('behavior: pages print in light colours, without controls, and long lists on few sheets', async () => {
  const names = ['live', 'transaction', 'account', 'workbench', 'docs-query'];
  for (const { name, path, ready } of pages.filter((one) => names.includes(one.name))) {
    const { page } = await world.open(path, { colorScheme: 'dark' });
    await page.waitForSelector(ready);
    // The longest of these documents needs at most twelve sheets.
    expect([name, countSheets(await page.pdf({ format: 'A4' })) <= 12]).toEqual([name, true]);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.isVisible('.topbar')).toBe(false);
    expect(await page.isVisible('main .button')).toBe(false);
    // Rows follow each other on the sheet; on the screen they have positions of their own.
    const heights = await page.$$eval('.virtual-size', (lists) =>
      lists.map((list) => [
        list.getBoundingClientRect().height,
        [...list.querySelectorAll('.virtual-row')].reduce((sum, row) => sum + row.clientHeight, 0),
      ]),
    );
    for (const [list = 0, rows = 0] of heights) expect([name, list >= rows]).toEqual([name, true]);
    const color = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect([name, color]).toEqual([name, 'rgb(255, 255, 255)']);
    await page.context().close();
  }
});

function countSheets(pdf: Buffer): number {
  return pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g)?.length ?? 0;
}

test('behavior: the theme can be changed, and the choice is kept', async () => {
  const { page } = await world.open('/', { colorScheme: 'light' });
  await page.click('[aria-label="Use dark colours"]');
  expect(await page.getAttribute('html', 'data-theme')).toBe('dark');
  await page.reload();
  await page.waitForSelector('[aria-label="Use light colours"]');
  expect(await page.getAttribute('html', 'data-theme')).toBe('dark');
  await page.context().close();
});

test('behavior: the keyboard reaches the search and skips to the content', async () => {
  const { page } = await world.open('/');
  await page.waitForSelector('.card');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
  await page.keyboard.press('/');
  expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');
  await page.context().close();
});
