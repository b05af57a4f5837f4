import { systemClock } from './clock.ts';

/**
 * Work that says where it may be interrupted: it yields between steps that are each short, and returns its result. The
 * same work can so be done at once, or in turns with whatever else a thread has to do.
 */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Does all of the work before anything else happens. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Others are let in when this much time has passed since they last were. */
const turnMs = 4;

/** Does the work in turns: what waits for this thread waits for a few milliseconds at most. */
export async function runInTurns<Result>(steps: Steps<Result>): Promise<Result> {
  let startMs = systemClock.nowMs();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (systemClock.nowMs() - startMs < turnMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    startMs = systemClock.nowMs();
  }
}
