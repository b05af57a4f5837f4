import { randomInt } from 'node:crypto';
import { systemClock } from '@sluice/base/clock';
import { delayOptimization, restoreOptimization } from '@sluice/base/delay-optimization';
import { limitHeapGrowth } from '@sluice/base/memory/limit-heap-growth';
import { type ConfigChoice, loadConfig } from '../app/config/load-config.ts';
import { type Describe, runServe } from '../app/serve.ts';
import type { CommandContext } from './context.ts';
import { readVersion } from './read-version.ts';
import { stopSignal } from './stop-signal.ts';

/** After this time a process has answered its first queries, and runs for days. */
const youngMs = 10_000;

/** Runs a service with a configuration from a file and options until it is stopped. */
export async function runConfigured(
  choice: ConfigChoice,
  describe: Describe,
  context: CommandContext,
): Promise<void> {
  limitHeapGrowth();
  delayOptimization();
  const signal = stopSignal();
  void systemClock.sleep(youngMs, signal).then(restoreOptimization);
  const reread = () => loadConfig(choice, process.env);
  const loaded = reread();
  // Without a file to reload, SIGHUP ends the process, as when its terminal is closed.
  const canReload = choice.file !== undefined || loaded.config.listen.keys !== undefined;
  await runServe(
    { loaded, reread, describe, version: readVersion(), seed: randomInt(2 ** 32) },
    {
      ...context,
      clock: systemClock,
      signal,
      onReload: canReload ? reloadSignal() : () => undefined,
    },
  );
}

/** Calls the registered callback at every SIGHUP. A signal before the registration is not lost and does not end the process. */
function reloadSignal(): (reload: () => void) => void {
  let isWanted = false;
  let act: (() => void) | undefined;
  process.on('SIGHUP', () => {
    isWanted = true;
    act?.();
  });
  return (reload) => {
    act = reload;
    if (isWanted) reload();
  };
}
