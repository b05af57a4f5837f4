/** One run of a query: reads blocks, keeps their records in memory up to a limit, and counts them. */

import type { Query } from '@sluice/client';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { clock } from '../../base/clock.ts';
import { buildClient } from '../../state/clients.ts';
import { type JsonObject, selectedFields } from './query-model.ts';

export type ResultRecord = Readonly<Record<string, unknown>>;

interface ResultHeader {
  readonly header: ResultRecord & { readonly number: number };
}

export type ResultBlock = ResultHeader & Readonly<Record<RecordArray, readonly ResultRecord[]>>;

export type RunState =
  | { readonly kind: 'running' }
  /** The whole range was read. */
  | { readonly kind: 'finished' }
  | { readonly kind: 'stopped' }
  /** The limit of records was reached. */
  | { readonly kind: 'full' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface RunFigures {
  readonly blockCount: number;
  readonly recordCount: number;
  readonly bytes: number;
  readonly rollbackCount: number;
  /** The time to the first line; `undefined` before it. */
  readonly firstLineMs: number | undefined;
  readonly elapsedMs: number;
}

/** The maximum number of records in the page. For more, the page offers a program that runs the query. */
export const recordCountMax = 300_000;
const bytesMax = 400_000_000;

export class QueryRun {
  readonly blocks: ResultBlock[] = [];
  /** The records of each kind in the order of the response, and the slot of each. */
  readonly records: Readonly<Record<RecordArray, ResultRecord[]>>;
  readonly slots: Readonly<Record<RecordArray, number[]>>;
  state: RunState = { kind: 'running' };
  readonly #stop = new AbortController();
  readonly #startMs = clock.nowMs();
  #endMs: number | undefined;
  #firstLineMs: number | undefined;
  #bytes = 0;
  #recordCount = 0;
  #rollbackCount = 0;

  constructor() {
    this.records = emptyLists();
    this.slots = emptyLists();
  }

  get figures(): RunFigures {
    return {
      blockCount: this.blocks.length,
      recordCount: this.#recordCount,
      bytes: this.#bytes,
      rollbackCount: this.#rollbackCount,
      firstLineMs: this.#firstLineMs,
      elapsedMs: (this.#endMs ?? clock.nowMs()) - this.#startMs,
    };
  }

  stop(): void {
    if (this.state.kind === 'running') this.#end({ kind: 'stopped' });
  }

  /** Resolves when the run is over. `onChange` is called after every batch. */
  async run(dataset: string, query: JsonObject, onChange: () => void): Promise<void> {
    try {
      await this.#read(dataset, query, onChange);
      this.#end({ kind: 'finished' });
    } catch (error) {
      this.#end({ kind: 'failed', error });
    }
    onChange();
  }

  async #read(dataset: string, query: JsonObject, onChange: () => void): Promise<void> {
    const client = buildClient(dataset, (event) => {
      if (event.kind !== 'blocks') return;
      this.#bytes += event.bytes;
      this.#firstLineMs ??= clock.nowMs() - this.#startMs;
    });
    const keepsHash = selectedFields(query, 'block')?.includes('hash') === true;
    const { signal } = this.#stop;
    for await (const batch of client.stream(query as unknown as Query, { signal })) {
      if (batch.kind === 'rollback') this.#rollBack(batch.to.number);
      else for (const block of batch.blocks) this.#add(block, keepsHash);
      if (this.#recordCount > recordCountMax || this.#bytes > bytesMax)
        return this.#end({ kind: 'full' });
      onChange();
    }
  }

  /** The client always selects the hash, to resume. It is removed if the query did not select it. */
  #add(block: ResultBlock, keepsHash: boolean): void {
    const { hash: _, ...header } = block.header;
    this.blocks.push(keepsHash ? block : { ...block, header });
    for (const array of RECORD_ARRAY_NAMES) {
      for (const record of block[array]) {
        this.records[array].push(record);
        this.slots[array].push(block.header.number);
        this.#recordCount++;
      }
    }
  }

  #rollBack(slot: number): void {
    this.#rollbackCount++;
    while ((this.blocks.at(-1)?.header.number ?? -1) > slot) this.blocks.pop();
    for (const array of RECORD_ARRAY_NAMES) {
      while ((this.slots[array].at(-1) ?? -1) > slot) {
        this.slots[array].pop();
        this.records[array].pop();
        this.#recordCount--;
      }
    }
  }

  #end(state: RunState): void {
    if (this.state.kind !== 'running') return;
    this.state = state;
    this.#endMs = clock.nowMs();
    this.#stop.abort();
  }
}

function emptyLists<Value>(): Readonly<Record<RecordArray, Value[]>> {
  return mapKeys(RECORD_ARRAY_NAMES, (): Value[] => []);
}
