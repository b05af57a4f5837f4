/**
 * The work of a page per frame, from the trace of the browser. Tasks are measured in processor time of the page's main
 * thread, so that other programs on the machine do not change the result.
 */
import type { Browser, Page } from 'playwright-core';

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

export interface FrameFigures {
  /** The number of frames in which the page did any work. */
  readonly frameCount: number;
  /** Milliseconds of work per frame. */
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  /** Milliseconds of work altogether. */
  readonly total: number;
  /** The number of frames with more work than fits into one. */
  readonly lateCount: number;
}

const frameUs = 1_000_000 / 60;
const categories = ['disabled-by-default-devtools.timeline', '__metadata'];

export async function measureFrames(
  browser: Browser,
  page: Page,
  act: () => Promise<unknown>,
): Promise<FrameFigures> {
  await browser.startTracing(page, { categories });
  await act();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  return summarize(sumFrames(trace.traceEvents));
}

/** Returns the work of each frame of the busiest page, in milliseconds. */
function sumFrames(events: readonly TraceEvent[]): readonly number[] {
  const mainThreads = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  );
  const tasks = events.filter(
    (event) => event.name === 'RunTask' && mainThreads.has(threadOf(event)),
  );
  const frames = new Map<string, Map<number, number>>();
  for (const task of tasks) {
    const thread = frames.get(threadOf(task)) ?? new Map<number, number>();
    frames.set(threadOf(task), thread);
    const frame = Math.floor(task.ts / frameUs);
    thread.set(frame, (thread.get(frame) ?? 0) + (task.tdur ?? 0) / 1_000);
  }
  const threads = [...frames.values()].map((thread) => [...thread.values()]);
  return threads.toSorted((a, b) => sum(b) - sum(a))[0] ?? [];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`;
}

function summarize(frames: readonly number[]): FrameFigures {
  const sorted = frames.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return {
    frameCount: sorted.length,
    p50: at(0.5),
    p95: at(0.95),
    max: at(1),
    total: sum(sorted),
    lateCount: sorted.filter((ms) => ms > frameUs / 1_000).length,
  };
}
