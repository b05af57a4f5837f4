/** A client that follows the protocol, while the ledger forks. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { Reading, StreamFixture } from './testing/stream-fixture.ts';

type Change =
  | { readonly kind: 'extend'; readonly gaps: readonly number[] }
  | { readonly kind: 'fork'; readonly depth: number; readonly gaps: readonly number[] }
  | { readonly kind: 'finalize'; readonly depth: number };

const gaps = (minLength: number) =>
  fc.array(fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 120 })), {
    minLength,
    maxLength: 4,
  });
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('extend' as const), gaps: gaps(1) }),
  fc.record({
    kind: fc.constant('fork' as const),
    depth: fc.integer({ min: 1, max: 6 }),
    gaps: gaps(1),
  }),
  fc.record({ kind: fc.constant('finalize' as const), depth: fc.integer({ min: 0, max: 8 }) }),
);

const slotsAbove = (slot: number, steps: readonly number[]) => {
  let at = slot;
  return steps.map((step) => {
    at += step;
    return at;
  });
};

/** Applies one change if the chain allows it. */
function apply(dataset: MemoryDataset, one: Change, index: number): void {
  const { hot, finalized } = dataset.snapshot();
  const numbers = hot.map(({ header }) => header.number);
  const at = (depth: number) => numbers[Math.max(0, numbers.length - 1 - depth)] as number;
  if (one.kind === 'extend') {
    dataset.extend(slotsAbove(at(0), one.gaps), `e${index}`);
    return;
  }
  const slot = at(one.depth);
  const floor = finalized?.number ?? 0;
  if (one.kind === 'finalize') {
    if (slot > floor) dataset.finalize(slot);
    return;
  }
  // The tip of the branch may be lower than the old head.
  const ancestor = Math.max(slot, floor);
  dataset.fork(ancestor, slotsAbove(ancestor, one.gaps), `f${index}`);
}

interface Held {
  readonly number: number;
  readonly hash: string;
}

class Client {
  readonly #fixture: StreamFixture;
  /** The blocks that the client holds. Each is the parent of the next. */
  readonly held: Held[] = [];
  conflictCount = 0;
  #reading: Reading | undefined;
  #taken = 0;
  #isAsking = false;

  constructor(fixture: StreamFixture) {
    this.#fixture = fixture;
  }

  /** Reads the lines that have arrived, and sends the next request if a response has ended. */
  async poll(): Promise<void> {
    for (;;) {
      await settle();
      if (this.#isAsking) return;
      const reading = this.#reading;
      if (reading === undefined) this.#ask();
      else {
        this.#take(reading);
        if (reading.kind === 'lines' && reading.end === undefined) return;
        this.#reading = undefined;
      }
    }
  }

  #ask(): void {
    const tip = this.held.at(-1);
    this.#isAsking = true;
    this.#taken = 0;
    const fields = { block: { number: true, hash: true, parentHash: true } };
    const from =
      tip === undefined
        ? { fromBlock: 0 }
        : { fromBlock: tip.number + 1, parentBlockHash: tip.hash };
    void this.#fixture.open({ ...from, fields, includeAllBlocks: true }).then((opened) => {
      this.#reading = new Reading(opened);
      this.#isAsking = false;
    });
  }

  #take({ text, opened }: Reading): void {
    if (opened.kind === 'conflict') this.#rollBack(opened.previousBlocks);
    const lines = text.split('\n').slice(0, -1);
    for (const line of lines.slice(this.#taken)) {
      const { header } = JSON.parse(line) as { header: Held & { parentHash: string } };
      const tip = this.held.at(-1);
      if (tip !== undefined) expect(header.parentHash).toBe(tip.hash);
      this.held.push(header);
    }
    this.#taken = lines.length;
  }

  #rollBack(previousBlocks: readonly Held[]): void {
    this.conflictCount++;
    const theirs = new Map(previousBlocks.map(({ number, hash }) => [number as number, hash]));
    const lowest = Math.min(...theirs.keys());
    for (let tip = this.held.at(-1); tip !== undefined; tip = this.held.at(-1)) {
      if (theirs.get(tip.number) === tip.hash || tip.number < lowest) return;
      this.held.pop();
    }
  }
}

test('property: I-33 I-34 I-44 a client that follows the protocol never holds adjacent blocks of two branches', async () => {
  let conflictCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 30 }), async (changes) => {
      const dataset = new MemoryDataset();
      dataset.extend([0, 1, 2]);
      const fixture = new StreamFixture(dataset);
      const client = new Client(fixture);
      await client.poll();
      for (const [index, one] of changes.entries()) {
        apply(dataset, one, index);
        // Several changes happen between two polls of a slow client.
        if (index % 3 !== 2) await client.poll();
      }
      await client.poll();
      const chain = dataset.snapshot().hot.map(({ header }) => header.hash);
      expect(client.held.map(({ hash }) => hash)).toEqual(chain);
      conflictCount += client.conflictCount;
      await fixture.close();
    }),
    { numRuns: 60 },
  );
  // The run is meaningful only if the client met forks.
  expect(conflictCount).toBeGreaterThan(0);
});
