import { expect, test } from 'vitest';
import { HTTP_LIMITS } from '../http/http-limits.ts';
import { boundConnections, refuseFewFiles } from './open-files-limit.ts';

const one = { datasets: 1, threads: 2 };

test('limit: F-55 the connection limit leaves open files for segments, sources and operators; error: open-files-too-few', () => {
  for (const openFilesMax of [200, 1_024, 4_096, 20_000]) {
    const count = boundConnections(openFilesMax, one);
    expect(count).toBeGreaterThanOrEqual(16);
    // There must be files left for segments, at most as many as connections, and for one dataset.
    const segments = Math.min(count, 2_048);
    expect(count + segments + 64).toBeLessThan(openFilesMax);
  }
  expect(boundConnections(1_024, { ...one, datasets: 4 })).toBeLessThan(
    boundConnections(1_024, one),
  );
  expect(() => boundConnections(64, one)).toThrow(/ulimit -n.*openFilesMax 64, needed 144/);
});

test('error: open-files-too-few: a service does not start if its modules cannot be loaded', () => {
  for (const openFilesMax of [256, 1_024, null]) refuseFewFiles(openFilesMax);
  expect(() => refuseFewFiles(255)).toThrow(/ulimit -n.*openFilesMax 255, needed 256/);
});

test('default: a limit of twenty thousand files is enough for all allowed connections', () => {
  const count = boundConnections(20_000, one);
  expect(count).toBeGreaterThanOrEqual(HTTP_LIMITS.connectionCountMax);
});
