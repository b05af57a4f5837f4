import { systemClock } from './clock.ts';

/**
 * Cooperative work: a generator that yields between short steps and returns its result. The same work can run to
 * completion, or in time slices between the other tasks of a thread.
 */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps without interruption. */
export function runToCompletion<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** All work together gets this much of each iteration of the event loop. The rest continues in the next iterations. */
const sliceMs = 4;

/** Work that waits for a slice. New work goes first, because most work finishes in its first slice. */
const newWork: (() => void)[] = [];
const startedWork: (() => void)[] = [];
let spentMs = 0;
let isSliceScheduled = false;

/**
 * Runs the work in time slices, so that it delays other tasks of this thread by a few milliseconds at most, regardless
 * of how much such work is queued. The caller limits how much is queued.
 */
export async function runInTimeSlices<Result>(steps: Steps<Result>): Promise<Result> {
  if (spentMs >= sliceMs || newWork.length > 0) await waitForSlice(newWork);
  for (;;) {
    const startMs = systemClock.nowMs();
    const result = runSlice(steps, startMs + sliceMs - spentMs);
    spentMs += systemClock.nowMs() - startMs;
    scheduleSlice();
    if (result !== undefined) return result.value;
    await waitForSlice(startedWork);
  }
}

function runSlice<Result>(
  steps: Steps<Result>,
  endMs: number,
): { readonly value: Result } | undefined {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { value: step.value };
    if (systemClock.nowMs() >= endMs) return undefined;
  }
}

function waitForSlice(queue: (() => void)[]): Promise<void> {
  return new Promise((resolve) => {
    queue.push(resolve);
    scheduleSlice();
  });
}

/**
 * Schedules the next event loop iteration. Each iteration starts one waiting task; if that finishes early, the next
 * iteration follows soon.
 */
function scheduleSlice(): void {
  if (isSliceScheduled) return;
  isSliceScheduled = true;
  setImmediate(() => {
    isSliceScheduled = false;
    spentMs = 0;
    const next = newWork.shift() ?? startedWork.shift();
    if (newWork.length + startedWork.length > 0) scheduleSlice();
    next?.();
  });
}
