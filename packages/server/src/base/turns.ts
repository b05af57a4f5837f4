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

/** All work together has so much of a round of the thread's loop; the rest of it waits for the next rounds. */
const turnMs = 4;

/** Who waits for a round to come: those who have had a turn let others go first, as most work is done in one. */
const newcomers: (() => void)[] = [];
const returners: (() => void)[] = [];
let spentMs = 0;
let isRoundAwaited = false;

/**
 * Does the work in turns: what waits for this thread waits for a few milliseconds at most, however much such work there is. How
 * much may be there at once is for the caller to bound.
 */
export async function runInTurns<Result>(steps: Steps<Result>): Promise<Result> {
  if (spentMs >= turnMs || newcomers.length > 0) await nextRound(newcomers);
  for (;;) {
    const startMs = systemClock.nowMs();
    const result = takeTurn(steps, startMs + turnMs - spentMs);
    spentMs += systemClock.nowMs() - startMs;
    awaitRound();
    if (result !== undefined) return result.value;
    await nextRound(returners);
  }
}

function takeTurn<Result>(
  steps: Steps<Result>,
  endMs: number,
): { readonly value: Result } | undefined {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { value: step.value };
    if (systemClock.nowMs() >= endMs) return undefined;
  }
}

function nextRound(line: (() => void)[]): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    awaitRound();
  });
}

/** One is let in a round: if it is done soon the next round comes soon. */
function awaitRound(): void {
  if (isRoundAwaited) return;
  isRoundAwaited = true;
  setImmediate(() => {
    isRoundAwaited = false;
    spentMs = 0;
    const next = newcomers.shift() ?? returners.shift();
    if (newcomers.length + returners.length > 0) awaitRound();
    next?.();
  });
}
