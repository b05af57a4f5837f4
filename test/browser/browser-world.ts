/** A simulated ledger that forks on command, a service that follows it, and a browser. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { ServiceProcess } from '../service/service-process.ts';
import { requireBrowser } from './find-browser.ts';
import type { ListedPage } from './listed-page.ts';
import { type FrameFigures, measureFrames } from './measure-frames.ts';
import { WatchedPage } from './watched-page.ts';
import { measureYardstick, type Slowness, slownessOf } from './yardstick.ts';

export const dataset = 'ledger';

type SimulatedNode = Awaited<ReturnType<typeof startSimulatedNode>>;

export interface WorldOptions {
  /** The number of blocks at the start. */
  readonly blockCount?: number;
  readonly transactionsPerBlock?: number;
  /** Additional arguments of `sluice serve`. */
  readonly args?: readonly string[];
}

export interface Measured {
  readonly work: FrameFigures;
  readonly slowness: Slowness;
}

export class BrowserWorld {
  readonly node: SimulatedNode;
  readonly #browser: Browser;
  readonly #folder: string;
  readonly #args: readonly string[];
  #service: ServiceProcess;

  private constructor(parts: {
    readonly node: SimulatedNode;
    readonly browser: Browser;
    readonly folder: string;
    readonly args: readonly string[];
    readonly service: ServiceProcess;
  }) {
    this.node = parts.node;
    this.#browser = parts.browser;
    this.#folder = parts.folder;
    this.#args = parts.args;
    this.#service = parts.service;
  }

  static async start(options: WorldOptions = {}): Promise<BrowserWorld> {
    const { blockCount = 120, transactionsPerBlock = 8 } = options;
    const startSeconds = Math.floor(systemClock.unixMs() / 1_000);
    const node = await startSimulatedNode(
      {
        chain: { seed: 1, startSlot: blockCount, startSeconds, skipRate: 0.05, forkRate: 0 },
        content: { transactionsPerBlock, votes: 0 },
      },
      { clock: systemClock },
    );
    const folder = mkdtempSync(join(tmpdir(), 'sluice-browser-'));
    const source = ['--rpc', node.rpcUrl, '--dataset', dataset, '--from', 'genesis'];
    const args = ['--data', folder, ...source, ...(options.args ?? [])];
    const [service, browser] = await Promise.all([
      ServiceProcess.startServe(args),
      chromium.launch({
        executablePath: requireBrowser(),
        args: ['--no-sandbox', '--disable-dev-shm-usage'],
      }),
    ]);
    const world = new BrowserWorld({ node, browser, folder, args, service });
    if (!args.includes('--keys')) await world.untilHead(blockCount - 5);
    return world;
  }

  get url(): string {
    return this.#service.url;
  }

  async untilHead(slot: number): Promise<void> {
    for (;;) {
      const head = await this.#service.getJson<{ number: number } | null>(
        `/datasets/${dataset}/head`,
      );
      if ((head?.number ?? -1) >= slot) return;
      await systemClock.sleep(100);
    }
  }

  /** Kills the service with SIGKILL. */
  async kill(): Promise<void> {
    await this.#service.end('SIGKILL');
  }

  /** Starts the service again on the same port. */
  async restart(): Promise<void> {
    const { port } = new URL(this.url);
    this.#service = await ServiceProcess.startServe([
      ...this.#args,
      '--port',
      port,
      '--admin-port',
      '0',
    ]);
  }

  async open(path: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const watched = await this.#openEmpty(options);
    await watched.page.goto(`${this.url}${path}`);
    return watched;
  }

  async #openEmpty(options: BrowserContextOptions): Promise<WatchedPage> {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    return new WatchedPage(await context.newPage(), this.url);
  }

  /** Opens a page and waits for its data. Returns the problems of the page. */
  async findFaults(
    pages: readonly ListedPage[],
    options: BrowserContextOptions,
  ): Promise<readonly string[]> {
    const watched = await this.#openEmpty(options);
    const found: string[] = [];
    for (const { path, ready, expected } of pages) {
      await watched.page.goto(`${this.url}${path}`);
      await watched.page.waitForSelector(ready, { state: 'attached' });
      const faults = (await watched.takeFaults()).filter((fault) => expected?.test(fault) !== true);
      found.push(...faults.map((fault) => `${path}: ${fault}`));
    }
    await watched.close();
    return found;
  }

  /** Returns the work of the page while an action runs. */
  async measure({ page }: WatchedPage, act: () => Promise<unknown>): Promise<Measured> {
    const before = await measureYardstick(this.#browser);
    const work = await measureFrames(this.#browser, page, act);
    const after = await measureYardstick(this.#browser);
    return { work, slowness: slownessOf(before, after) };
  }

  async post<Answer>(path: string, body: unknown): Promise<Answer[]> {
    const response = await this.#service.query(`/datasets/${dataset}${path}`, body);
    const lines = (await response.text()).trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Answer);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#service.end('SIGTERM');
    await this.node.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
