/** Runs every command and query of the guide, the README, the pages of docs and the start banner with the demo. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../packages/client/src/client.ts';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { type GuideProgram, readCode, readGuideCode } from './guide-programs.ts';

interface Query {
  readonly fromBlock: number;
  readonly toBlock?: number;
  readonly fields?: Readonly<Record<string, Readonly<Record<string, boolean>>>>;
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
const command = join(repositoryRoot, 'packages', 'server', 'bin', 'sluice.js');
/** Everything that the examples select is before this block. */
const lastBlock = 200;
const outputBytesMax = 64 << 20;
const kinds = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];
let demo: ServiceProcess;
beforeAll(async () => {
  demo = await ServiceProcess.startDemo(folder);
  const client = createClient({ url: `${demo.url}/datasets/ledger-beta` });
  while (((await client.head())?.number ?? 0) < lastBlock) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await storeSet();
});
afterAll(async () => {
  await demo.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Stores the set of addresses that examples refer to: owners of tokens. */
async function storeSet(): Promise<void> {
  const fields = { tokenBalance: { postOwner: true } };
  const query = { fromBlock: 0, toBlock: lastBlock, fields, tokenBalances: [{}] };
  const response = await fetch(`${demo.url}/datasets/ledger-beta/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(query),
  });
  const owners = [...(await response.text()).matchAll(/"postOwner":"(\w+)"/g)].map(
    ([, text]) => text,
  );
  const body = [...new Set(owners)].join('\n');
  const stored = await fetch(`${demo.adminUrl}/sets/exchanges`, { method: 'PUT', body });
  expect(stored.status, await stored.text()).toBe(200);
}

/** Fails unless the records can be joined and the stream can be resumed. */
function expectJoinable({ fields }: Query): void {
  if (fields === undefined) return;
  expect(fields['block']).toMatchObject({ hash: true });
  for (const [kind, names] of Object.entries(fields)) {
    if (kind === 'block' || kind === 'reward') continue;
    expect(names, kind).toMatchObject({ transactionIndex: true });
    if (kind === 'instruction') expect(names).toMatchObject({ instructionAddress: true });
  }
}

async function expectAnswer(text: string): Promise<void> {
  const query = JSON.parse(text) as Query & { readonly includeAllBlocks?: boolean };
  expectJoinable(query);
  const response = await fetch(`${demo.url}/datasets/ledger-beta/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...query, toBlock: Math.min(query.toBlock ?? lastBlock, lastBlock) }),
  });
  const body = await response.text();
  expect(response.status, body).toBe(200);
  const blocks = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const queriedKinds = kinds.filter((kind) => kind in query);
  for (const kind of queriedKinds)
    expect(
      blocks.some((block) => kind in block),
      kind,
    ).toBe(true);
  if (queriedKinds.length === 0) expect(blocks.length).toBeGreaterThan(1);
}

const queries = [...readCode('docs/query.md', 'json'), ...readGuideCode('json')].filter(
  ({ text }) => text.includes('"fromBlock"'),
);

test.each(queries)('behavior: the query $name returns records', ({ text }) => expectAnswer(text));

/** Runs a command line like a user in a clone of this repository. */
function runLine(line: string): string {
  const text = line
    .replaceAll('http://127.0.0.1:8080', demo.url)
    .replaceAll('npx sluice', `'${process.execPath}' '${command}'`);
  // This limit ends a command that follows the ledger.
  const { stdout, stderr, status } = spawnSync('timeout', ['20', 'bash', '-ec', text], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: outputBytesMax,
    env: { ...process.env, SLUICE_URL: demo.url },
  });
  expect([0, 124], stderr).toContain(status);
  return stdout;
}

function expectOutput(line: string): void {
  const body = /-d '([^']*)'/.exec(line)?.[1];
  if (body !== undefined) expectJoinable(JSON.parse(body) as Query);
  const isEndless = body === undefined ? line.includes('--follow') : !body.includes('"toBlock"');
  const output = runLine(isEndless ? `${line.trimEnd()} | head -n 5` : line);
  const [, file] = /--out (\S+)/.exec(line) ?? [];
  expectPrinted(line, file === undefined ? output : readFileSync(join(folder, file), 'utf8'));
}

/** Fails unless a text has records in the form that the command prints. */
function expectPrinted(line: string, text: string): void {
  const lines = text.trimEnd().split('\n');
  if (line.includes('--print-curl')) {
    expect(text).toMatch(/^curl .*\/stream -d '\{"fromBlock":\d+,.*\}'\n$/);
  } else if (line.includes('--output csv')) {
    const columns = lines.map((row) => row.split(',').length);
    expect([lines[0]?.startsWith('slot,'), lines.length > 1]).toEqual([true, true]);
    expect(new Set(columns).size).toBe(1);
  } else if (line.includes('--count')) {
    for (const count of Object.values(JSON.parse(text) as object)) expect(count).toBeGreaterThan(0);
  } else if (/\/head$/.test(line.trim())) {
    const isRef = { number: expect.any(Number), hash: expect.any(String) };
    expect(JSON.parse(text)).toEqual(isRef);
  } else expectBlocks(line, lines);
}

function expectBlocks(line: string, lines: readonly string[]): void {
  const blocks = lines.map(
    (text) =>
      JSON.parse(text) as { header: { number: number; hash: string } } & Record<string, unknown>,
  );
  const slots = blocks.map(({ header }) => header.number);
  expect(slots).toEqual([...new Set(slots)].sort((a, b) => a - b));
  for (const { header } of blocks) expect(header.hash).toMatch(/^\w{32,44}$/);
  const isFiltered = /--(program|account|owner|mint|query)|-d '/.test(line);
  if (isFiltered) expect(blocks.some((block) => kinds.some((kind) => kind in block))).toBe(true);
}

const pages = ['README.md', 'docs/http.md', 'docs/cli.md'].flatMap((page) => readCode(page, 'sh'));
const isRead = ({ text }: GuideProgram): boolean =>
  /^(curl .*\/stream|npx sluice query) /m.test(text);
const lines = [...readGuideCode('sh'), ...pages.filter(isRead)];

test('default: there are commands to run', () => {
  expect(lines.length).toBeGreaterThan(8);
  expect(queries.length).toBeGreaterThan(12);
});

test.each(lines)('behavior: the command $name prints records', ({ text }) => {
  // Some commands read their query from this file.
  writeFileSync(join(folder, 'q.json'), queries[0]?.text ?? '');
  const commands = text.includes(" -d '") ? [text] : text.trimEnd().split('\n');
  for (const one of commands) expectOutput(one);
});

test('behavior: the command of the start banner prints records', () => {
  const line = /^ +(curl .*)$/m.exec(demo.text)?.[1] as string;
  expectOutput(line);
});
