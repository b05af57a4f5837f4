/** A consumer that follows the head with the client library, which must never hold neighbours of two branches. */
import type { Random } from '@sluice/base/random';
import { createClient } from '../../packages/client/src/create-client.ts';
import type { Ledger } from './ledger.ts';
import { must } from './model.ts';
import { type Connection, send } from './network.ts';
import { Life, type Scheduler } from './scheduler.ts';

export interface FollowerDependencies {
  readonly scheduler: Scheduler;
  /** Returns the first slot that the service has. */
  readonly start: () => number;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly connect: (client: Life) => Connection | undefined;
  readonly note: (event: string) => void;
}

interface Held {
  readonly number: number;
  readonly hash: string;
}

export class Follower {
  readonly life = new Life();
  readonly held: Held[] = [];
  readonly #dependencies: FollowerDependencies;
  readonly #isFinalized: boolean;
  rollbackCount = 0;

  constructor(isFinalized: boolean, dependencies: FollowerDependencies) {
    this.#isFinalized = isFinalized;
    this.#dependencies = dependencies;
  }

  /** Follows for ever. A consumer that was left behind by the retention policy begins again. */
  async run(): Promise<void> {
    const { scheduler } = this.#dependencies;
    while (!this.life.isOver) {
      this.held.length = 0;
      await this.#follow().catch((error: unknown) => {
        if (error instanceof Error && error.name === 'Violation') throw error;
        this.#dependencies.note(`follower ends: ${error}`);
      });
      await scheduler.delay(500, this.life);
    }
  }

  async #follow(): Promise<void> {
    const { scheduler, start, random, note } = this.#dependencies;
    const client = createClient(
      { url: 'http://sluice/datasets/ledger', fetch: this.#fetch },
      { clock: scheduler.clock(this.life), random: () => random.unit() },
    );
    const fromBlock = start();
    const fields = { block: { number: true, hash: true, parentHash: true } } as const;
    const query = { fromBlock, fields, includeAllBlocks: true } as const;
    for await (const batch of client.stream(query, { finalized: this.#isFinalized })) {
      if (batch.kind === 'rollback') {
        must(!this.#isFinalized, 'the finalized stream never rolls back');
        this.rollbackCount++;
        while ((this.held.at(-1)?.number ?? -1) > batch.to.number) this.held.pop();
        const top = this.held.at(-1);
        must(top === undefined || top.hash === batch.to.hash, 'a rollback ends at a held block');
      } else for (const { header } of batch.blocks) this.#take(header);
      note(`follower ${this.held.at(-1)?.number}`);
    }
  }

  #take(header: Held & { readonly parentHash: string | null }): void {
    const tip = this.held.at(-1);
    must(tip === undefined || header.parentHash === tip.hash, 'a consumer holds one branch');
    must(this.#dependencies.ledger.find(header.hash) !== undefined, 'a consumer gets real blocks');
    this.held.push({ number: header.number, hash: header.hash });
    if (this.held.length > 2_000) this.held.splice(0, 1_000);
  }

  readonly #fetch: typeof fetch = async (input, init) => {
    const connection = this.#dependencies.connect(this.life);
    if (connection === undefined) throw new TypeError('the service is not running');
    const { client } = connection;
    init?.signal?.addEventListener('abort', () => client.destroy(), { once: true });
    const { pathname } = new URL(String(input));
    const { response } = send(client, {
      method: init?.method ?? 'GET',
      path: pathname,
      headers: { ...(init?.headers as Record<string, string>), 'accept-encoding': 'identity' },
      body: String(init?.body ?? ''),
    });
    const incoming = await response;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        incoming.on('data', (chunk: Uint8Array) => controller.enqueue(new Uint8Array(chunk)));
        incoming.on('end', () => controller.close());
        incoming.on('error', (error) => controller.error(error));
      },
      cancel: () => void client.destroy(),
    });
    const status = incoming.statusCode ?? 500;
    const headers = incoming.headers as Record<string, string>;
    return new Response(status === 204 ? null : body, { status, headers });
  };
}
