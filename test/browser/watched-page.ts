import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The minified script, because it is compiled again in every document. */
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

/** A page whose errors are collected: those of scripts, of the content security policy, and requests to other hosts. */
export class WatchedPage {
  readonly page: Page;
  readonly faults: string[] = [];

  constructor(page: Page, origin: string) {
    this.page = page;
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        this.faults.push(message.text());
    });
    page.on('pageerror', (error) => this.faults.push(String(error.stack)));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith('blob:'))
        this.faults.push(`request to ${url}`);
    });
  }

  /** Expects no error so far and no accessibility or layout problem. */
  async expectSound(): Promise<void> {
    expect(await this.findFaults()).toEqual([]);
  }

  async findFaults(): Promise<readonly string[]> {
    return [...this.faults, ...(await this.#findBarriers()), ...(await this.#findOverflow())];
  }

  /** Returns the same as `findFaults`, and forgets the errors so far, before the tab shows another page. */
  async takeFaults(): Promise<readonly string[]> {
    const found = await this.findFaults();
    this.faults.length = 0;
    return found;
  }

  /** Returns violations of the rules for accessible pages. */
  async #findBarriers(): Promise<readonly string[]> {
    await this.page.evaluate(axeSource);
    return await this.page.evaluate(async () => {
      const { axe: engine } = globalThis as unknown as { axe: typeof axe };
      const found = await engine.run(document, { resultTypes: ['violations'] });
      return found.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
      );
    });
  }

  /** Returns content that is wider than the window, or taller than the row of a long list. */
  async #findOverflow(): Promise<readonly string[]> {
    const [content = 0, window = 0] = await this.page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    const tall = await this.page.$$eval('.virtual-row', (rows) =>
      rows.filter((row) => row.scrollHeight > row.clientHeight + 1).map((row) => row.textContent),
    );
    return [
      ...(content > window ? [`${content} pixels wide in a window of ${window}`] : []),
      ...tall.map((text) => `a row does not fit into its height: ${text}`),
    ];
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
