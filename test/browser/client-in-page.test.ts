/** The built client library as ES modules in a page of one origin, reading a service of another origin. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { requireBrowser } from './find-browser.ts';

const importMap = {
  imports: {
    '@sluice/client': '/packages/client/dist/client.js',
    '@sluice/protocol/': '/packages/protocol/dist/',
  },
};

const page = `<!doctype html><title>reader</title>
<script type="importmap">${JSON.stringify(importMap)}</script>`;

/** A module of the page. It reads stored blocks and then new ones. It is text, so that no compiler changes its import. */
const reader = `
import { createClient } from '@sluice/client';

export async function read(url, count) {
  const client = createClient({ url, retry: { attemptsMax: 1 } });
  const head = await client.head();
  const query = {
    fromBlock: Math.max(0, head.number - 10),
    includeAllBlocks: true,
    fields: { block: { parentHash: true }, transaction: { fee: true } },
    transactions: [{}],
  };
  const blocks = [];
  let [fees, finalized] = [0n, -1];
  for await (const batch of client.stream(query)) {
    finalized = batch.finalizedHead?.number ?? finalized;
    if (batch.kind === 'rollback') continue;
    for (const { header, transactions } of batch.blocks) {
      blocks.push(header);
      for (const { fee } of transactions) fees += fee ?? 0n;
    }
    if (blocks.length >= count) break;
  }
  return { head: head.number, blocks, fees: String(fees), finalized };
}
`;

interface ReadResult {
  readonly head: number;
  readonly blocks: readonly { number: number; hash: string; parentHash: string }[];
  readonly fees: string;
  readonly finalized: number;
}

/** Opens a page and reads from the service in it. Rejects with the error of the page. */
async function readInPage(pageUrl: string, count: number): Promise<ReadResult> {
  const context = await browser.newContext();
  try {
    const opened = await context.newPage();
    await opened.goto(pageUrl);
    const url = JSON.stringify(`${service.url}/datasets/simulated`);
    return await opened.evaluate<ReadResult>(
      `import('/reader.js').then(({ read }) => read(${url}, ${count}))`,
    );
  } finally {
    await context.close();
  }
}

let browser: Browser;
let pages: Server;
let folder: string;
let service: ServiceProcess;

/** Serves the page, and the built files of both packages by the paths of the import map. */
function servePages(): Server {
  return createServer(({ url = '/' }, response) => {
    if (url === '/reader.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(reader);
      return;
    }
    const isModule = /^\/packages\/(?:client|protocol)\/dist\/[\w/-]+(?:\.js)?$/.test(url);
    if (!isModule) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page);
      return;
    }
    const file = url.endsWith('.js') ? url : `${url}.js`;
    response.writeHead(200, { 'content-type': 'text/javascript' });
    response.end(readFileSync(join(repositoryRoot, file)));
  });
}

beforeAll(async () => {
  pages = servePages();
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'sluice-page-'));
  const config = join(folder, 'sluice.yaml');
  writeFileSync(
    config,
    `data: ./data
listen:
  corsOrigins: [${origin()}]
datasets:
  - name: simulated
    from: genesis
    sources: [{ kind: simulator, startSlot: 100, slotMs: 200 }]
`,
  );
  service = await ServiceProcess.startServe(['--config', config]);
  while ((await service.getJson<{ number: number } | null>(headPath))?.number === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  browser = await chromium.launch({
    executablePath: requireBrowser(),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.end('SIGTERM');
  pages?.close();
  rmSync(folder, { recursive: true, force: true });
});

const headPath = '/datasets/simulated/head';
const origin = (host = '127.0.0.1') => `http://${host}:${(pages.address() as AddressInfo).port}`;

test('behavior: a page of an allowed origin streams history and new blocks with the built modules', async () => {
  const { head, blocks, fees, finalized } = await readInPage(origin(), 20);
  expect(blocks.length).toBeGreaterThanOrEqual(20);
  expect(blocks.at(-1)?.number).toBeGreaterThan(head);
  for (const [i, block] of blocks.slice(1).entries()) {
    expect(block.parentHash).toBe(blocks[i]?.hash);
  }
  expect(BigInt(fees)).toBeGreaterThan(0n);
  // The finalized head is in a response header, which the service must expose to pages.
  expect(finalized).toBeGreaterThan(0);
});

test('error: network-failed in a page of an origin that is not allowed', async () => {
  await expect(readInPage(origin('localhost'), 1)).rejects.toThrow('[network-failed]');
});
