import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from './random.ts';

function draw(random: Random, count: number): number[] {
  return Array.from({ length: count }, () => random.uint32());
}

describe('random', () => {
  test('default: the numbers of a seed never change', () => {
    // The expected values were computed by a separate program with arbitrary-precision integers.
    expect(draw(Random.fromSeed(1), 4)).toEqual([144597523, 3838294856, 2874854799, 2230072920]);
    expect(draw(Random.fromSeed(1).fork('block', 0, 300_000_000), 2)).toEqual([
      1131141102, 1889031215,
    ]);
  });

  test('behavior: a fork depends on the labels and not on the numbers drawn before', () => {
    const random = Random.fromSeed(7);
    const before = draw(random.fork('a', 1), 8);
    draw(random, 100);
    expect(draw(random.fork('a', 1), 8)).toEqual(before);
  });

  test('property: different labels give different numbers', () => {
    const root = Random.fromSeed(7);
    const labels: (string | number)[][] = [[], [0], [1], [-1], [2 ** 32], [2 ** 33], ['0'], ['']];
    labels.push(['a', 'b'], ['ab'], ['b', 'a'], [0, 0], [1, 0], [0, 1]);
    const firsts = labels.map((label) => draw(root.fork(...label), 2).join());
    expect(new Set(firsts).size).toBe(labels.length);
  });

  test('property: numbers stay within their bounds and reach both ends', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 40 }), (seed, end) => {
        const random = Random.fromSeed(seed);
        const values = new Set(Array.from({ length: 1000 }, () => random.below(end)));
        expect(
          [...values].every((value) => Number.isInteger(value) && value >= 0 && value < end),
        ).toBe(true);
        expect(values.size).toBe(end);
      }),
      { numRuns: 50 },
    );
  });

  test('behavior: an event of probability 0.25 happens in a quarter of the draws', () => {
    const random = Random.fromSeed(3);
    let count = 0;
    for (let i = 0; i < 100_000; i++) if (random.chance(0.25)) count++;
    expect(count / 100_000).toBeCloseTo(0.25, 2);
  });
});
