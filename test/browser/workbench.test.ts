/** Tests the workbench: the form, the editor, the results, and many rows. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformWithEsbuild } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeQuery } from '../../packages/web/src/pages/workbench/query-link.ts';
import { BrowserWorld, dataset } from './browser-world.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
let world: BrowserWorld;
beforeAll(async () => {
  world = await BrowserWorld.start();
});
afterAll(() => world.close());

const linkTo = (query: object) => `/workbench/${dataset}${encodeQuery(JSON.stringify(query))}`;

const balances = {
  fromBlock: 0,
  toBlock: 40,
  fields: { block: { number: true }, balance: { account: true, post: true } },
  balances: [{}],
};

/** A selector of the lines of the editor. */
const editorLines = '.editor-box .cm-line';

test('default: a query in a link runs, and its results are shown as a table, a tree and JSON', async () => {
  const watched = await world.open(
    linkTo({
      fromBlock: 10,
      toBlock: 30,
      fields: { transaction: { fee: true, feePayer: true } },
      transactions: [{}],
    }),
  );
  const { page } = watched;
  await page.waitForSelector(editorLines);
  await page.click('.run-button');
  await page.waitForSelector('.run-summary .badge.ok');
  expect(await page.locator('.record-row').count()).toBeGreaterThan(5);
  await watched.expectSound();
  await page.click('.segmented button:has-text("Tree")');
  await page.click('.tree-row >> nth=0');
  expect(await page.textContent('.tree')).toContain('header');
  await page.click('.segmented button:has-text("JSON") >> nth=-1');
  expect(await page.textContent('.raw')).toContain('"feePayer"');
  await watched.expectSound();
  await watched.close();
});

test('behavior: the form and the JSON text stay in sync, and so does the address', async () => {
  const watched = await world.open(linkTo({ fromBlock: 10 }));
  const { page } = watched;
  await page.waitForSelector(editorLines);
  await page.fill('.range-fields input >> nth=1', '77');
  // The note shows the newest slot of the dataset. When it changes, the text that is being typed must stay.
  const note = await page.textContent('.range-note');
  await page.waitForFunction(
    (old) => document.querySelector('.range-note')?.textContent !== old,
    note,
  );
  await page.keyboard.press('Tab');
  await page.waitForSelector(`${editorLines}:has-text("\\"toBlock\\": 77")`);
  await page.click('[aria-label="Select Rewards"]');
  await page.waitForSelector(`${editorLines}:has-text("rewards")`);
  await page.click('.editor-box .cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"fromBlock": 5, "logs": [{"kind": "data"}]}');
  await page.waitForFunction(
    () => (document.querySelector('.range-fields input') as HTMLInputElement | null)?.value === '5',
  );
  expect(await page.locator('.filter').count()).toBe(1);
  await page.waitForFunction(() => atob(location.hash.slice(3)).includes('"fromBlock": 5'));
  await watched.expectSound();
  await watched.close();
});

test('behavior: errors are shown before the query is sent, and the form waits for valid JSON', async () => {
  const watched = await world.open(
    linkTo({ fromBlock: 5, instructions: [{ programId: ['short'] }], sort: 1 }),
  );
  const { page } = watched;
  await page.waitForSelector('.problems');
  const text = await page.textContent('.problems');
  expect(text).toContain('instructions[0].programId[0]');
  expect(text).toContain('sort');
  expect(await page.isDisabled('.run-button')).toBe(true);
  await page.waitForSelector('.editor-box .cm-lintRange-error');
  const underlines = await page.$$eval('.editor-box .cm-lintRange-error', (marks) =>
    marks.map((mark) => getComputedStyle(mark).textDecorationLine),
  );
  expect(new Set(underlines)).toEqual(new Set(['underline']));
  // The content security policy must not block the marks.
  expect(watched.faults).toEqual([]);
  await page.click('.editor-box .cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"fromBlock":');
  await page.waitForSelector('.side-form .callout.bad');
  await page.context().close();
});

test('behavior: keys are completed from the tables of the protocol', async () => {
  const { page } = await world.open(linkTo({ fromBlock: 5 }));
  await page.click('.editor-box .cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"fromBlock": 5, "instructions": [{}]}');
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowLeft');
  await page.keyboard.type('"inner');
  await page.waitForSelector('.cm-tooltip-autocomplete li');
  expect(await page.textContent('.cm-tooltip-autocomplete')).toContain('innerInstructions');
  await page.context().close();
});

test('behavior: a large scan shows its cost and runs only after confirmation', async () => {
  const { page } = await world.open(linkTo(balances));
  await page.route('**/estimate', async (route) => {
    const response = await route.fetch();
    const json = { ...((await response.json()) as object), bytesToRead: 5_000_000_000 };
    await route.fulfill({ response, json });
  });
  await page.reload();
  await page.waitForSelector('.estimate.warn:has-text("5.0 GB")');
  await page.click('.run-button');
  await page.waitForSelector('[role=alertdialog]');
  await page.click('[role=alertdialog] button:has-text("Cancel")');
  expect(await page.locator('.run-summary').count()).toBe(0);
  await page.click('.run-button');
  await page.click('[role=alertdialog] button:has-text("Run it anyway")');
  await page.waitForSelector('.run-summary .badge.ok');
  await page.context().close();
});

test('behavior: a query is counted without running it', async () => {
  const response = await fetch(`${world.url}/datasets/${dataset}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(balances),
  });
  const lines = (await response.text()).trimEnd().split('\n');
  const counts = lines.map((line) => (JSON.parse(line).balances ?? []).length);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const { page } = await world.open(linkTo(balances));
  await page.click('.count button:not([disabled])');
  await page.waitForSelector('.count:has-text("balances in")');
  expect(await page.textContent('.count')).toContain(`${total.toLocaleString('en-US')} balances`);
  expect(await page.locator('.run-summary').count()).toBe(0);
  await page.context().close();
});

test('behavior: the keyboard runs a query, moves between the tables and opens the menus', async () => {
  const { page } = await world.open(linkTo({ ...balances, transactions: [{}] }));
  await page.click('.editor-box .cm-content');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.run-summary .badge.ok');
  const selected = () => page.textContent('[role=tab][aria-selected=true]');
  await page.focus('[role=tab][aria-selected=true]');
  expect(await selected()).toContain('transactions');
  await page.keyboard.press('ArrowRight');
  expect(await selected()).toContain('balances');
  await page.keyboard.press('ArrowLeft');
  expect(await selected()).toContain('transactions');
  await page.focus('.menu button:has-text("Download")');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('JSON');
  await page.keyboard.press('Escape');
  expect(await page.locator('.menu-list').count()).toBe(0);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Download');
  await page.context().close();
});

test('behavior: every recipe runs on this dataset', async () => {
  const watched = await world.open(`/workbench/${dataset}`);
  const { page } = watched;
  await page.waitForFunction(() => document.querySelectorAll('.recipe-choice option').length > 6);
  const count = await page.locator('.recipe-choice option').count();
  for (let i = 1; i < count; i++) {
    await page.selectOption('.recipe-choice', { index: i });
    await page.click('.run-button:not([disabled])');
    await page.waitForFunction(() => {
      const [, blocks] = document.querySelectorAll('.run-figure strong');
      return Number(blocks?.textContent?.replaceAll(',', '')) > 0;
    });
    if ((await page.textContent('.run-button')) === 'Stop') await page.click('.run-button');
    expect(await page.locator('[role=alert]').count()).toBe(0);
  }
  expect(watched.faults).toEqual([]);
  await watched.close();
});

async function readAnswer(query: object): Promise<string> {
  const sent = await fetch(`${world.url}/datasets/${dataset}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(query),
  });
  return await sent.text();
}

test('behavior: results are downloaded as JSON lines and CSV, with every digit', async () => {
  const { page } = await world.open(linkTo(balances));
  await page.click('.run-button:not([disabled])');
  await page.waitForSelector('.run-summary .badge.ok');
  const save = async (entry: number) => {
    await page.click('.menu button:has-text("Download")');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click(`.menu-list button >> nth=${entry}`),
    ]);
    const parts: Buffer[] = [];
    for await (const part of await download.createReadStream()) parts.push(part as Buffer);
    return Buffer.concat(parts).toString();
  };
  const answer = await readAnswer(balances);
  expect(await save(0)).toBe(answer);
  const [heads, ...rows] = (await save(1)).trim().split(/\r?\n/);
  expect(heads).toContain('account');
  expect(rows).toHaveLength(answer.split('"account"').length - 1);
  const [, last = ''] = /"post":(\d+)[^{]*$/.exec(answer) ?? [];
  expect(rows.at(-1)).toContain(last);
  await page.context().close();
});

test('behavior: the copied programs run and return the same blocks', async () => {
  const { page } = await world.open(linkTo(balances), {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const copy = async (name: string) => {
    await page.click('.menu button:not([disabled]):has-text("Copy as")');
    await page.click(`.menu-list button:has-text("${name}")`);
    return await page.evaluate(() => navigator.clipboard.readText());
  };
  const answer = await readAnswer(balances);
  const slots = [...answer.matchAll(/"number":(\d+)/g)].map(([, slot]) => slot);
  expect(await runProgram('bash', ['-c', await copy('curl')])).toBe(answer);
  const printed = await runProgram('python3', ['-c', await copy('Python')]);
  expect(printed.match(/^\d+/gm)).toEqual(slots);
  const { code } = await transformWithEsbuild(await copy('TypeScript'), 'query.ts');
  const args = ['--input-type=module', '-e', code];
  const logged = await runProgram(process.execPath, args);
  expect([...logged.matchAll(/number: (\d+)/g)].map(([, slot]) => slot)).toEqual(slots);
  await page.context().close();
});

test('behavior: the card has a command that stores the query in a database', async () => {
  const watched = await world.open(linkTo(balances), {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page } = watched;
  const card = page.locator('[aria-label="Sync this query to a database"]');
  await card.locator('button:has-text("DuckDB")').click();
  expect(await card.locator('.raw').textContent()).toContain('--to duckdb:');
  await card.locator('button:has-text("PostgreSQL")').click();
  await card.locator('[aria-label="Copy command"]').click();
  await card.locator('[aria-label="Copied"]').waitFor();
  const command = (await page.evaluate(() => navigator.clipboard.readText())).trim();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-card-'));
  const sluice = `${process.execPath} ${join(repository, 'packages/server/bin/sluice.js')}`;
  // A dry run prints the statements for the database and rows of the service.
  const script = `cd ${folder} && ${command.replace('npx sluice', sluice)} --dry-run`;
  const printed = await runProgram('bash', ['-c', script]);
  rmSync(folder, { recursive: true, force: true });
  expect(printed).toContain('create table "public"."balances"');
  expect(printed).toContain('-- 5 rows');
  await page.click('.editor-box .cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"fromBlock": 5}');
  await card.locator('text=Each kind becomes a table').waitFor();
  await watched.expectSound();
  await watched.close();
});

/** Returns the output of the program. Fails if the program fails. */
async function runProgram(command: string, args: readonly string[]): Promise<string> {
  const options = { cwd: repository, maxBuffer: 64 << 20 };
  const { stdout } = await promisify(execFile)(command, [...args], options);
  return stdout;
}
