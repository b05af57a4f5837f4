/** An ingester whose sources and dataset are in memory, with a clock that the test advances. */

import { Random } from '@sluice/base/random';
import type { BlockHeader } from '@sluice/ledger/block';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { PortalSource } from '@sluice/source/portal/portal-source';
import { refusal, type SourceResult } from '@sluice/source/refusal';
import { RpcSource } from '@sluice/source/rpc/rpc-source';
import type { Commitment, Source } from '@sluice/source/source';
import { vi } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import type { ChainChange } from '../../chain/chain-change.ts';
import { type ChainSnapshot, emptySnapshot } from '../../chain/chain-snapshot.ts';
import { sealRun } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import type { NewChange } from '../../dataset/chain-writer.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { Ingester, type IngesterDependencies, type IngesterOptions } from '../ingester.ts';
import { ok } from './fake-source.ts';

/** A node in memory. Tests change its fields while it is followed. */
export class FakeNode implements Omit<Source, 'notices'> {
  readonly format = 'node';
  readonly isRateLimited = false;
  readonly name: string;
  /** The confirmed chain, ascending. */
  headers: readonly BlockHeader[];
  finalized: number;
  genesisHash = 'genesis';
  /** Whether every call fails. */
  isDown = false;
  /** How often each method was called. */
  readonly counts: Record<string, number> = {};

  constructor(name: string, headers: readonly BlockHeader[], finalized: number) {
    this.name = name;
    this.headers = headers;
    this.finalized = finalized;
  }

  async identity(): ReturnType<Source['identity']> {
    return this.#answer('identity', () => ok({ genesisHash: this.genesisHash, content: null }));
  }

  async slot(commitment: Commitment): Promise<SourceResult<Slot>> {
    return this.#answer('slot', () =>
      ok(toSlot(commitment === 'finalized' ? this.finalized : this.#head)),
    );
  }

  async firstAvailable(): Promise<SourceResult<Slot>> {
    return this.#answer('firstAvailable', () => ok(this.headers[0]?.number ?? toSlot(0)));
  }

  async listSlots(
    { first, last }: { readonly first: number; readonly last: number },
    commitment: Commitment,
  ): Promise<SourceResult<Slot[]>> {
    const end = commitment === 'finalized' ? this.finalized : this.#head;
    const isListed = (slot: number) => slot >= first && slot <= last && slot <= end;
    return this.#answer('listSlots', () =>
      ok(this.headers.map(({ number }) => number).filter(isListed)),
    );
  }

  async header(slot: Slot, commitment: Commitment): Promise<SourceResult<BlockHeader>> {
    const isFinal = commitment === 'confirmed' || slot <= this.finalized;
    const found = this.headers.find(({ number }) => number === slot);
    return this.#answer('header', () =>
      found !== undefined && isFinal ? ok(found) : refusal('not-available', 'none'),
    );
  }

  /** The bytes are the hash. `startIngester` prepares such blocks. */
  async block(slot: Slot): Promise<SourceResult<Uint8Array>> {
    const found = this.headers.find(({ number }) => number === slot);
    return this.#answer('block', () =>
      found === undefined ? refusal('not-available', 'none') : ok(Buffer.from(found.hash)),
    );
  }

  giveBack(): void {}

  async close(): Promise<void> {
    this.counts['close'] = (this.counts['close'] ?? 0) + 1;
  }

  get #head(): number {
    return this.headers.at(-1)?.number ?? 0;
  }

  #answer<Value>(call: string, answer: () => SourceResult<Value>): SourceResult<Value> {
    this.counts[call] = (this.counts[call] ?? 0) + 1;
    return this.isDown ? refusal('outage', 'HTTP 503') : answer();
  }
}

const calls = [
  'identity',
  'slot',
  'firstAvailable',
  'listSlots',
  'header',
  'block',
  'giveBack',
  'close',
] as const;

/** Directs the calls of sources to the nodes of the same names, until `vi.restoreAllMocks`. */
function replaceSources(nodes: readonly FakeNode[]): void {
  for (const kind of [RpcSource.prototype, PortalSource.prototype] as Source[]) {
    for (const call of calls) {
      vi.spyOn(kind, call).mockImplementation(function (this: Source, ...given: never[]) {
        const node = nodes.find(({ name }) => name === this.name) as FakeNode;
        return (node[call] as (...args: never[]) => never).apply(node, given);
      });
    }
  }
}

/** A dataset without files. Tests change its fields. */
export class MemoryDataset {
  readonly alarms: AlarmBoard;
  readonly description = {
    votes: 'drop',
    allowMissing: [] as string[],
    genesisHash: null as string | null,
  };
  current: ChainSnapshot = emptySnapshot;
  storage = 'open';
  /** Thrown by every commit. */
  commitError: Error | undefined;
  readonly trims: unknown[] = [];
  readonly #waiters = new Set<() => void>();

  constructor(clock: ManualClock) {
    this.alarms = new AlarmBoard(clock);
  }

  async adoptGenesis(hash: string): Promise<void> {
    this.description.genesisHash ??= hash;
  }

  snapshot(): ChainSnapshot {
    return this.current;
  }

  pendingSnapshot(): ChainSnapshot {
    return this.current;
  }

  async commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    if (this.commitError !== undefined) throw this.commitError;
    return this.#apply(changes.map(toChainChange));
  }

  async reopen(): Promise<void> {}

  async prependSealed(_payloads: unknown, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    const segment = sealRun(headers.map((header) => ({ header })));
    return this.#apply([{ kind: 'prepend', segments: [segment] }]);
  }

  changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot> {
    return new Promise((resolve) => {
      const wake = () => {
        if (this.current.version > sinceVersion || signal.aborted) resolve(this.current);
        else this.#waiters.add(wake);
      };
      signal.addEventListener('abort', wake, { once: true });
      wake();
    });
  }

  async seal(): Promise<boolean> {
    return false;
  }

  async trim(retention: unknown): Promise<boolean> {
    this.trims.push(retention);
    return false;
  }

  status(): { readonly storage: { readonly kind: string } } {
    return { storage: { kind: this.storage } };
  }

  #apply(changes: readonly ChainChange[]): ChainSnapshot {
    this.current = applyChanges(this.current, changes);
    for (const wake of [...this.#waiters]) {
      this.#waiters.delete(wake);
      wake();
    }
    return this.current;
  }
}

function toChainChange(change: NewChange): ChainChange {
  if (!('blocks' in change)) return change;
  const blocks = change.blocks.map(({ header }) => ({ header, payload: header.number as number }));
  return { ...change, blocks };
}

export interface StartedIngester {
  readonly clock: ManualClock;
  readonly dataset: MemoryDataset;
  readonly ingester: Ingester;
  readonly running: Promise<void>;
  readonly stop: AbortController;
  /** The slots of the blocks that were prepared for the head. */
  readonly prepared: readonly number[];
  head(): number | undefined;
  /** The active alarms, as code and text. */
  raised(): string[];
  /** Stops it and waits for its end. */
  end(): Promise<void>;
}

/** Starts an ingester that follows the nodes from genesis. Call `vi.restoreAllMocks` afterwards. */
export function startIngester(
  nodes: readonly FakeNode[],
  options: Partial<IngesterOptions> = {},
  dependencies: Partial<IngesterDependencies> = {},
): StartedIngester {
  replaceSources(nodes);
  const clock = new ManualClock();
  const dataset = new MemoryDataset(clock);
  const prepared: number[] = [];
  const url = 'http://127.0.0.1:9';
  const ingester = new Ingester(
    {
      sources: nodes.map(({ name }) => ({ kind: 'rpc' as const, name, url, wsUrls: [] })),
      start: { kind: 'genesis' },
      ...options,
    },
    {
      dataset: dataset as unknown as Dataset,
      clock,
      random: Random.fromSeed(1),
      prepare: async (slot, bytes) => {
        prepared.push(slot);
        return prepareFake(nodes, bytes);
      },
      ...dependencies,
    },
  );
  const stop = new AbortController();
  const running = ingester.run(stop.signal);
  // `end` awaits it and throws its error.
  running.catch(() => undefined);
  return {
    clock,
    dataset,
    ingester,
    running,
    stop,
    prepared,
    head: () => dataset.current.head?.number,
    raised: () => dataset.alarms.list().map(({ code, message }) => `${code}: ${message}`),
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

/** Returns the block of one of the nodes that has this hash. */
export function prepareFake(nodes: readonly FakeNode[], bytes: Uint8Array) {
  const hash = Buffer.from(bytes).toString();
  const header = nodes.flatMap(({ headers }) => headers).find((one) => one.hash === hash);
  return { header: header as BlockHeader, bytes, counts: newCounts() };
}
