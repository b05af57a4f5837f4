import { expect, test } from 'vitest';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';
import { SharedEvaluations } from './shared-evaluations.ts';

const selection = parseTestQuery({ fromBlock: 0 });
const snapshot = { head: { hash: 'tip' } } as unknown as ChainSnapshot;

function jobAt(slot: number) {
  return { selection, snapshot, first: slot, last: slot, blocks: `block ${slot}` };
}

/** Answers when it is told to. */
class HeldEvaluator implements BlockEvaluator {
  readonly started: ((lineBytes: number | Error) => void)[] = [];

  async *evaluate(): AsyncGenerator<EvaluatedBlocks> {
    const lineBytes = await new Promise<number | Error>((resolve) => this.started.push(resolve));
    if (lineBytes instanceof Error) throw lineBytes;
    yield { piece: new LinePiece(new Uint8Array(lineBytes)) } as EvaluatedBlocks;
  }
}

test('behavior: a block is evaluated once for all who ask the same', async () => {
  const evaluator = new HeldEvaluator();
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const [first, second] = [shared.evaluate(jobAt(1)), shared.evaluate(jobAt(1))];
  expect(evaluator.started.length).toBe(1);
  evaluator.started[0]?.(10);
  expect(await first).toBe(await second);
});

test('limit: what is forgotten while it is made, or fails, leaves no trace in the count', async () => {
  const evaluator = new HeldEvaluator();
  const shared = new SharedEvaluations({ bytesMax: 4_000 }, evaluator);
  const before = shared.bytes;
  const slow = shared.evaluate(jobAt(1));
  const failing = shared.evaluate(jobAt(2));
  const large = shared.evaluate(jobAt(3));
  evaluator.started[1]?.(new Error('a disk'));
  await expect(failing).rejects.toThrow('a disk');
  // Larger than all room there is: everything goes, the one under way too.
  evaluator.started[2]?.(10_000);
  await large;
  expect(shared.bytes).toBe(before);
  evaluator.started[0]?.(100);
  expect((await slow)[0]?.piece?.byteLength).toBe(100);
  expect(shared.bytes).toBe(before);
});
