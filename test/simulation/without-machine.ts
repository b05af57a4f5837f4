/** Keeps the machine that runs the simulation out of it, so that a seed decides everything. */

/** Holds its object for ever. */
class StrongRef<Target extends WeakKey> {
  readonly [Symbol.toStringTag] = 'WeakRef';
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  deref(): Target {
    return this.#target;
  }
}

/** Never calls back, because nothing that a strong reference holds is freed while its world runs. */
class SilentRegistry {
  readonly [Symbol.toStringTag] = 'FinalizationRegistry';

  register(): void {}

  unregister(): boolean {
    return false;
  }
}

/**
 * Runs a simulation in which nothing depends on the speed of the machine or on the moments at which it collects garbage. Code that measures
 * the time of the machine decides always as on an infinitely fast one. The cache of objects and the evaluations that streams share reuse
 * what somebody else still holds; with real weak references, a collection decides whether they do.
 */
export async function withoutMachine<Result>(run: () => Promise<Result>): Promise<Result> {
  const real = {
    WeakRef: globalThis.WeakRef,
    FinalizationRegistry: globalThis.FinalizationRegistry,
  };
  const { now } = performance;
  performance.now = () => 0;
  Object.assign(globalThis, { WeakRef: StrongRef, FinalizationRegistry: SilentRegistry });
  try {
    return await run();
  } finally {
    performance.now = now;
    Object.assign(globalThis, real);
  }
}
