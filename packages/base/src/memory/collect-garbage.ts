import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Runs a full garbage collection of this thread's heap. Worker threads call it after a large job, before they wait for
 * the next one: V8 collects only when something is allocated, so an idle thread would keep its garbage.
 */
export function collectGarbage(): void {
  collect ??= exposeCollector();
  collect();
}

/** V8 exposes `gc` only in contexts that are created while the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
