/** A thread of the engine whose code runs in the process of the simulation, in turn with everything else. */
import type { Random } from '@sluice/base/random';
import type {
  FromThread,
  ToThread,
} from '../../packages/server/src/engine/threads/engine-messages.ts';
import type { PoolThread } from '../../packages/server/src/engine/threads/engine-pool.ts';
import {
  EngineThread,
  type EngineWorkerData,
} from '../../packages/server/src/engine/threads/engine-thread.ts';
import type { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import type { Life, Scheduler } from './scheduler.ts';

export interface ThreadDependencies {
  readonly disk: SimFs;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly life: Life;
}

/** Messages in one direction. They take time and keep their order. */
class Wire<Message> {
  readonly #dependencies: ThreadDependencies;
  #receive: (message: Message) => void = () => undefined;
  #lastMs = 0;

  constructor(dependencies: ThreadDependencies) {
    this.#dependencies = dependencies;
  }

  set receive(receive: (message: Message) => void) {
    this.#receive = receive;
  }

  send(message: Message): void {
    const { scheduler, random, life } = this.#dependencies;
    this.#lastMs = Math.max(this.#lastMs, scheduler.nowMs + random.unit() * 0.3);
    scheduler.schedule(this.#lastMs - scheduler.nowMs, life, () => this.#receive(message));
  }
}

export function startSimulatedThread(
  data: EngineWorkerData,
  dependencies: ThreadDependencies,
): PoolThread {
  const down = new Wire<ToThread>(dependencies);
  const up = new Wire<FromThread>(dependencies);
  const { disk, scheduler, life } = dependencies;
  new EngineThread(data, {
    port: {
      on: (_event, receive) => {
        down.receive = receive;
      },
      postMessage: (message) => up.send(message),
    },
    clock: scheduler.clock(life),
    openFile: (path) => disk.openRange(path),
    cachedFiles: undefined,
  });
  return {
    on: (event: string, receive: (value: never) => void) => {
      if (event === 'message') up.receive = receive as (message: FromThread) => void;
    },
    postMessage: (message) => down.send(message),
    terminate: async () => undefined,
  };
}
