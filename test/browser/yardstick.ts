/**
 * How fast this machine draws at the moment. The processor time of a thread contains time that the host gave to other
 * machines, and waits for caches that other programs use, so the same work takes longer on a busy machine. The yardstick is
 * the work of a page that never changes, measured in the same way; the limits of tests are multiplied by its slowness.
 */
import type { Browser } from 'playwright-core';
import { type FrameFigures, measureFrames } from './measure-frames.ts';

type YardstickFigures = Pick<FrameFigures, 'p50' | 'p95' | 'total'>;

/** For each figure: how many times slower than an idle machine this machine is; never less than 1. */
export type Slowness = YardstickFigures;

/** On two idle cores, in milliseconds: see docs/measurements/2026-11-16-web.md. */
const idle: YardstickFigures = { p50: 4, p95: 6, total: 260 };

const frameCount = 60;
const document = `<!doctype html><title>yardstick</title>
<style>div { display: flex } span { flex: 1; white-space: nowrap }</style><main></main>`;

/** Draws rows of plain text, a third of them new in each frame. */
export async function measureYardstick(browser: Browser): Promise<YardstickFigures> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.setContent(document);
  const figures = await measureFrames(browser, page, () => page.evaluate(drawRows, frameCount));
  await context.close();
  return figures;
}

/** Runs in the page. */
async function drawRows(count: number): Promise<void> {
  const [rowCount, newRowCount, cellCount] = [30, 10, 14];
  const list = globalThis.document.querySelector('main');
  for (let frame = 0; frame < count; frame++) {
    for (let i = 0; i < newRowCount; i++) {
      const row = globalThis.document.createElement('div');
      for (let cell = 0; cell < cellCount; cell++) {
        const text = globalThis.document.createElement('span');
        text.textContent = `${frame} ${i} ${cell}`;
        row.append(text);
      }
      list?.append(row);
      if ((list?.childElementCount ?? 0) > rowCount) list?.firstElementChild?.remove();
    }
    await new Promise(requestAnimationFrame);
  }
}

/** Compares the yardstick with that of an idle machine. If it was measured several times, the slowest counts. */
export function slownessOf(...measured: readonly YardstickFigures[]): Slowness {
  const worst = (name: keyof YardstickFigures) =>
    Math.max(1, ...measured.map((figures) => figures[name] / idle[name]));
  return { p50: worst('p50'), p95: worst('p95'), total: worst('total') };
}
