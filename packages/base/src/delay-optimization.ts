import { setFlagsFromString } from 'node:v8';

/** V8 decides whether to optimize a function each time it has executed this many bytes of bytecode. */
const interruptBudgets = { delayed: 500_000, default: 67_584 };

/**
 * Makes V8 optimize JavaScript later. Kernels do most of the work of a query and of an import. Their JavaScript consists of many functions that
 * run briefly, and optimizing them took a quarter of the processor time of the first queries and of an import of 120 blocks. Functions that are
 * really hot are still optimized. Versions of V8 after 11 optimize in two steps, the first of which is quick, so they do not need this setting.
 * The setting applies to the whole process until it is restored.
 */
export function delayOptimization(): void {
  setInterruptBudget(interruptBudgets.delayed);
}

/** Lookups take a fifth less time with V8's default, in a process that is no longer young. */
export function restoreOptimization(): void {
  setInterruptBudget(interruptBudgets.default);
}

function setInterruptBudget(budget: number): void {
  if (optimizesInOneStep) setFlagsFromString(`--interrupt-budget=${budget}`);
}

export const optimizesInOneStep = process.versions.v8.startsWith('11.');
