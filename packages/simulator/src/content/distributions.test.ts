import { Random } from '@sluice/base/random';
import { describe, expect, test } from 'vitest';
import {
  buildZipfTable,
  drawLognormal,
  portableExp,
  portableLn,
  Quantiles,
  WeightedTable,
} from './distributions.ts';

const COUNT = 50_000;

describe('distributions', () => {
  test('default: the portable functions agree with the engine to fourteen digits', () => {
    for (const value of [1e-9, 0.3, 1, 1.5, 2, 58, 3000, 1e15]) {
      expect(portableLn(value)).toBeCloseTo(Math.log(value), 12);
    }
    for (const value of [-20, -1.7, -0.1, 0, 0.5, 1, 12.3]) {
      expect(portableExp(value) / Math.exp(value)).toBeCloseTo(1, 13);
    }
  });

  test('behavior: entries are drawn by their weights, and an entry without a weight is never drawn', () => {
    const random = Random.fromSeed(1);
    const table = new WeightedTable([1, 0, 3]);
    const counts = [0, 0, 0];
    for (let i = 0; i < COUNT; i++) {
      const index = table.draw(random);
      counts[index] = (counts[index] as number) + 1;
    }
    expect(counts[1]).toBe(0);
    expect((counts[2] as number) / (counts[0] as number)).toBeCloseTo(3, 0);
  });

  test('behavior: the frequency of a rank falls with the requested exponent', () => {
    const random = Random.fromSeed(1);
    const table = buildZipfTable(1000, 1.7);
    const counts = new Map<number, number>();
    for (let i = 0; i < COUNT; i++) {
      const rank = table.draw(random);
      counts.set(rank, (counts.get(rank) ?? 0) + 1);
    }
    const ratio = (counts.get(0) as number) / (counts.get(3) as number);
    expect(ratio / 4 ** 1.7).toBeCloseTo(1, 0);
  });

  test('behavior: the drawn values have the given quantiles', () => {
    const random = Random.fromSeed(1);
    const quantiles = new Quantiles([
      [0, 0],
      [0.5, 10],
      [0.9, 100],
      [1, 1000],
    ]);
    const values = Array.from({ length: COUNT }, () => quantiles.draw(random));
    expect(values.filter((value) => value < 10).length / COUNT).toBeCloseTo(0.5, 1);
    expect(values.filter((value) => value < 100).length / COUNT).toBeCloseTo(0.9, 1);
  });

  test('limit: a lognormal count has the given mean and stays within its limits', () => {
    const random = Random.fromSeed(1);
    const shape = { mean: 976, sigma: 0.45, max: 4000 };
    const values = Array.from({ length: COUNT }, () => drawLognormal(random, shape));
    expect(values.reduce((sum, value) => sum + value, 0) / COUNT / 976).toBeCloseTo(1, 1);
    expect(Math.max(...values)).toBeLessThanOrEqual(4000);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  });
});
