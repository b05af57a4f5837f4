import { expect, test } from 'vitest';
import { boundConnections } from './open-files-limit.ts';

test('limit: F-55 connections leave room for files, sources and the operator; error: open-files-too-few', () => {
  for (const openFilesMax of [200, 1_024, 20_000]) {
    const count = boundConnections(openFilesMax, 1);
    expect(count).toBeGreaterThanOrEqual(16);
    // As many files again, and what a service with one dataset was seen to have open.
    expect(2 * count + 64).toBeLessThan(openFilesMax);
  }
  expect(boundConnections(1_024, 4)).toBeLessThan(boundConnections(1_024, 1));
  expect(() => boundConnections(64, 1)).toThrow(/ulimit -n.*openFilesMax 64, needed 144/);
});
