import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Frees all that this thread no longer reads, now. For threads that have done a large piece of work and then wait for the next: the
 * runtime collects where something is made, so what they leave behind stays until they work again.
 */
export function collectGarbage(): void {
  collect ??= findCollector();
  collect();
}

/** The runtime hands it out in contexts that are made while it is told to. */
function findCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return found;
}
