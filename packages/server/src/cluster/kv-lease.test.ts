import type { KV, KvEntry } from '@nats-io/kv';
import { systemClock } from '@sluice/base/clock';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { KvLease } from './kv-lease.ts';

/** A key of a server that never removes it by itself. */
class StuckKey {
  #holder: string | undefined;
  #revision = 0;
  /** Whether writes get no response until the leader changes. */
  isSilent = false;
  readonly refused: string[] = [];

  get holder(): string | undefined {
    return this.#holder;
  }

  readonly changeLeader = async (): Promise<void> => {
    this.isSilent = false;
  };

  get kv(): KV {
    return {
      create: (_key: string, holder: string) => this.#write(holder, 0),
      update: (_key: string, holder: string, revision: number) => this.#write(holder, revision),
      get: async () => this.#entry,
      delete: async () => {
        this.#holder = undefined;
        this.#revision++;
      },
    } as unknown as KV;
  }

  get #entry(): KvEntry | null {
    if (this.#revision === 0) return null;
    const [revision, holder] = [this.#revision, this.#holder];
    const operation = holder === undefined ? 'DEL' : 'PUT';
    return { revision, operation, string: () => holder ?? '' } as KvEntry;
  }

  async #write(holder: string, expected: number): Promise<number> {
    if (this.isSilent) throw new Error('timeout');
    if (expected !== this.#revision) {
      this.refused.push(holder);
      throw new Error('wrong last sequence');
    }
    this.#holder = holder;
    return ++this.#revision;
  }
}

const leaseMs = 400;
const acquire = (
  { kv, changeLeader }: StuckKey,
  holder: string,
  { clock = systemClock, signal = new AbortController().signal } = {},
) => KvLease.acquire({ key: 'ledger', holder, leaseMs }, { kv, clock, changeLeader }, signal);

test('default: a released lease is taken by the next process, without a write that is refused', async () => {
  const key = new StuckKey();
  const first = await acquire(key, 'first');
  const second = acquire(key, 'second');
  await first?.release();
  expect([(await second)?.signal.aborted, key.holder, key.refused]).toEqual([false, 'second', []]);
  await (await second)?.release();
});

test('behavior: a key that its dead holder does not renew is taken over, although the server does not remove it', async () => {
  const key = new StuckKey();
  await key.kv.create('ledger', 'dead');
  const lease = await acquire(key, 'next');
  expect([lease?.signal.aborted, key.holder]).toEqual([false, 'next']);
  await lease?.release();
});

test('behavior: a process that waits for the lease writes nothing, and does not take a key that is renewed', async () => {
  const key = new StuckKey();
  const clock = new ManualClock();
  const first = await acquire(key, 'first', { clock });
  const stop = new AbortController();
  const second = acquire(key, 'second', { clock, signal: stop.signal });
  await clock.advance(4 * leaseMs);
  expect([first?.signal.aborted, key.holder, key.refused]).toEqual([false, 'first', []]);
  stop.abort();
  expect(await second).toBeUndefined();
  await first?.release();
});

test('behavior: servers that respond to reads but not to writes are asked for another leader', async () => {
  const key = new StuckKey();
  key.isSilent = true;
  const lease = await acquire(key, 'one');
  expect([key.isSilent, key.holder]).toEqual([false, 'one']);
  await lease?.release();
});

test('limit: a holder gives up before its key can expire if the servers do not respond, and at once if another process has it', async () => {
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const [silent, taken] = [new StuckKey(), new StuckKey()];
  const clock = new ManualClock();
  const [first, second] = [
    await acquire(silent, 'first', { clock }),
    await acquire(taken, 'second', { clock }),
  ];
  silent.isSilent = true;
  await taken.kv.update('ledger', 'other', 1);
  const seen = [];
  for (let passedMs = leaseMs / 4; passedMs < leaseMs; passedMs += leaseMs / 4) {
    clock.advance(leaseMs / 4);
    await settle();
    seen.push([first?.signal.aborted, second?.signal.aborted]);
  }
  expect(seen).toEqual([
    [false, true],
    [false, true],
    [true, true],
  ]);
});
