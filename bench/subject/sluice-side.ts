import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EnginePool } from '@sluice/server/dist/engine/threads/engine-pool.js';
import type { Query } from '@sluice/server/dist/query/query.js';
import { parseBody } from '../parse-body.ts';
import { type Corpus, segmentsFolder } from './corpus.ts';
import type { Side } from './side.ts';

export interface SluiceOptions {
  readonly threadCount: number;
  readonly cacheBytesMax: number;
}

/** Our engine with its threads over the segment files of the corpus. */
export class SluiceSide implements Side {
  readonly #pool: EnginePool;
  readonly #corpus: Corpus;
  #keys: readonly string[] | undefined;

  private constructor(corpus: Corpus, options: SluiceOptions) {
    this.#corpus = corpus;
    this.#pool = new EnginePool(options);
  }

  /** Starts the threads without opening a file. */
  static async start(corpus: Corpus, options: SluiceOptions): Promise<SluiceSide> {
    const side = new SluiceSide(corpus, options);
    side.#keys = [];
    await side.discard(parseBody({ fromBlock: 0, toBlock: 0 }));
    side.#keys = undefined;
    return side;
  }

  async discard(query: Query): Promise<number> {
    for await (const _ of this.answer(query));
    // The engine returns joined lines, so no time is spent on joining.
    return 0;
  }

  /** Each chunk is valid until the next one is requested. */
  async *answer(query: Query): AsyncGenerator<Uint8Array> {
    this.#keys ??= await this.#open();
    const lastKey = this.#keys.at(-1);
    const run = this.#pool.run({
      selection: query,
      range: { first: query.fromBlock, last: query.toBlock ?? Infinity },
      keys: this.#keys,
      ...(lastKey === undefined ? {} : { lastKey }),
    });
    for await (const { bytes, release } of run) {
      yield bytes;
      release();
    }
  }

  async close(): Promise<void> {
    await this.#pool.stop();
  }

  async #open(): Promise<readonly string[]> {
    const folder = segmentsFolder(this.#corpus);
    const keys = (await readdir(folder)).sort();
    for (const key of keys) this.#pool.open(key, { kind: 'file', path: join(folder, key) });
    return keys;
  }
}
