/** The client with a scripted service over real sockets. The service also does what real services rarely do. */
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { BlockRef } from './base/block-ref.ts';
import { createClient } from './create-client.ts';
import type { Batch } from './stream/stream-types.ts';
import { ModelChain, type Step } from './testing/model-chain.ts';
import { scaledClock } from './testing/scaled-clock.ts';
import { type Behavior, ScriptedService } from './testing/scripted-service.ts';

/** The store of a consumer. It throws if a batch would make it inconsistent. */
class HeldBlocks {
  readonly blocks: BlockRef[] = [];
  rollbackCount = 0;
  blockCount = 0;

  take(batch: Batch): void {
    if (batch.kind === 'rollback') {
      this.rollbackCount++;
      const kept = this.blocks.filter(({ number }) => number <= batch.to.number);
      const last = kept.at(-1);
      if (last?.number === batch.to.number && last.hash !== batch.to.hash) {
        throw new Error(`rolled back to ${batch.to.number}, which is held with another hash`);
      }
      if (kept.length === this.blocks.length) throw new Error('a rollback of nothing');
      this.blocks.length = kept.length;
      return;
    }
    for (const { header } of batch.blocks) {
      const last = this.blocks.at(-1);
      if (last !== undefined && header.number <= last.number) {
        throw new Error(`block ${header.number} came after ${last.number}`);
      }
      this.blocks.push({ number: header.number, hash: header.hash });
      this.blockCount++;
    }
  }
}

const services: ScriptedService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

async function startService(chain: ModelChain): Promise<ScriptedService> {
  const service = await ScriptedService.start(chain);
  services.push(service);
  return service;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    gap: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 9 })),
    matches: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
);

interface Turn {
  readonly change: 'none' | 'extend' | 'fork' | 'finalize';
  readonly depth: number;
  readonly steps: readonly Step[];
  readonly behavior: Behavior;
}

const often = <T>(value: T, weight = 3) => ({ weight, arbitrary: fc.constant(value) });
const cut = { cutAt: fc.double({ min: 0, max: 1, noNaN: true }) };

const behavior: fc.Arbitrary<Behavior> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: fc.record({ lineCountMax: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ pageLength: fc.integer({ min: 1, max: 2 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...cut,
      isGzip: fc.boolean(),
      cutHow: fc.constantFrom('destroy' as const, 'end' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      instead: fc.constantFrom(
        ...(['destroy', 'unavailable', 'failed', 'over-limit', 'above', 'html'] as const),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      headers: fc.constantFrom(...(['none', 'half', 'garbage', 'older'] as const)),
      isGzip: fc.boolean(),
    }),
  },
);

const turn: fc.Arbitrary<Turn> = fc.record({
  change: fc.oneof(
    often('none' as const),
    often('extend' as const, 6),
    often('fork' as const, 3),
    often('finalize' as const, 2),
  ),
  depth: fc.integer({ min: 1, max: 20 }),
  steps,
  behavior,
});

/** Expects every block with records, and of the others only some that marked the end of a response. */
function expectHeld(held: HeldBlocks, chain: ModelChain, toBlock: number): void {
  const covered = chain.blocks.filter(({ number }) => number <= toBlock);
  const hashes = new Set(held.blocks.map(({ hash }) => hash));
  const isOnChain = new Set(covered.map(({ hash }) => hash));
  expect(covered.filter(({ matches, hash }) => matches && !hashes.has(hash))).toEqual([]);
  expect(held.blocks.filter(({ hash }) => !isOnChain.has(hash))).toEqual([]);
}

function change(chain: ModelChain, { change: what, depth, steps: added }: Turn): void {
  if (what === 'extend') chain.extend(added);
  else if (what === 'fork') chain.fork(depth, added);
  else if (what === 'finalize') chain.finalize(depth);
}

const patienceMs = 20_000;

test('property: for any behavior of the service, the consumer ends with the chain: no block is duplicated, missing or of another branch', async () => {
  let rollbackCount = 0;
  let requestCount = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 25 }),
      fc.record({
        hasReplica: fc.boolean(),
        includeAllBlocks: fc.boolean(),
        /** The number of batches after which the consumer is restarted with its stored cursor. */
        restartAfter: fc.integer({ min: 1, max: 8 }),
      }),
      async (turns, { hasReplica, includeAllBlocks, restartAfter }) => {
        const chain = new ModelChain();
        chain.extend([1, 2, 1].map((gap) => ({ gap, matches: true })));
        // The first block of a ledger is never replaced.
        chain.finalize(2);
        const replicas = [
          await startService(chain),
          ...(hasReplica ? [await startService(chain)] : []),
        ];
        const left = [...turns];
        let toBlock = Infinity;
        const held = new HeldBlocks();
        for (const service of replicas) {
          service.next = () => {
            requestCount++;
            const now = left.shift();
            if (now !== undefined) {
              change(chain, now);
              return now.behavior;
            }
            if (toBlock === Infinity) {
              // After the script, the ledger forks a last time and then grows far beyond the range.
              chain.fork(2, [{ gap: 1, matches: true }]);
              toBlock = (chain.head?.number ?? 0) + 3;
              chain.extend([{ gap: 5, matches: true }]);
            }
            return {};
          };
        }
        const client = createClient(
          { url: replicas.map(({ url }) => url), stallMs: patienceMs, timeoutMs: patienceMs },
          { clock: scaledClock(100), random: () => 0.5 },
        );
        const query = { fromBlock: 0, includeAllBlocks, transactions: [{}] };
        let stored: string | undefined;
        const cursor = { load: async () => JSON.parse(stored ?? 'null') };
        while ((held.blocks.at(-1)?.number ?? 0) <= toBlock) {
          let batchCount = 0;
          for await (const batch of client.stream(query, { cursor })) {
            held.take(batch);
            stored = JSON.stringify(batch.cursor);
            if (++batchCount === restartAfter || (held.blocks.at(-1)?.number ?? 0) > toBlock) break;
          }
        }
        expectHeld(held, chain, Infinity);
        rollbackCount += held.rollbackCount;
        for (const service of replicas) await service.close();
        services.length = 0;
      },
    ),
    { numRuns: 60 },
  );
  // The run is only meaningful if the consumer saw forks.
  expect(rollbackCount).toBeGreaterThan(30);
  expect(requestCount).toBeGreaterThan(300);
}, 60_000);

test('property: a bounded stream ends by itself, also if the last slots were skipped and responses are truncated', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(behavior, { maxLength: 8 }),
      steps,
      fc.integer({ min: 0, max: 12 }),
      async (behaviors, added, above) => {
        const chain = new ModelChain();
        chain.extend(added);
        const toBlock = (chain.head?.number ?? 0) + above;
        chain.extend([{ gap: above + 1, matches: true }]);
        const service = await startService(chain);
        const left = [...behaviors];
        service.next = () => left.shift() ?? {};
        const client = createClient(
          { url: service.url, stallMs: patienceMs, timeoutMs: patienceMs },
          { clock: scaledClock(100), random: () => 0.5 },
        );
        const held = new HeldBlocks();
        const query = { fromBlock: 0, toBlock, transactions: [{}] };
        for await (const batch of client.stream(query)) held.take(batch);
        expectHeld(held, chain, toBlock);
        await service.close();
        services.length = 0;
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);
