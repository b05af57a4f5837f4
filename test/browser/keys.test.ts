/** Tests a service that requires keys. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BrowserWorld } from './browser-world.ts';

const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-browser-keys-'));
const keyFile = join(folder, 'keys.txt');
let world: BrowserWorld;
let key: string;
beforeAll(async () => {
  const args = [command, 'keys', 'create', '--keys', keyFile, '--name', 'browser'];
  key = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim();
  world = await BrowserWorld.start({ blockCount: 40, args: ['--keys', keyFile] });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

test('behavior: the page asks for a key, reports a wrong one, and keeps a valid one for the tab only', async () => {
  const { page } = await world.open('/');
  await page.waitForSelector('.key-prompt');
  await page.fill('.key-prompt input', 'not the key');
  await page.click('.key-prompt button');
  await page.waitForSelector('.key-prompt [role=alert]');
  expect(await page.textContent('.key-prompt [role=alert]')).toContain('does not know this key');
  await page.fill('.key-prompt input', key);
  await page.click('.key-prompt button');
  await page.waitForSelector('.card');
  expect(page.url()).not.toContain(key);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(key);
  await page.reload();
  await page.waitForSelector('.card');
  const other = await page.context().newPage();
  await other.goto(world.url);
  await other.waitForSelector('.key-prompt');
  await page.click('[aria-label="Forget the key"]');
  await page.waitForSelector('.key-prompt');
  await page.context().close();
});

test('behavior: the documentation is available without a key', async () => {
  const { page } = await world.open('/docs/query');
  await page.waitForSelector('.prose h1');
  await page.context().close();
});
