import { expect, test } from 'vitest';
import { HTTP_LIMITS } from '../http/http-limits.ts';
import { boundConnections, refuseFewFiles } from './open-files-limit.ts';

const one = { datasets: 1, threads: 2 };

test('limit: F-55 connections leave room for files, sources and the operator; error: open-files-too-few', () => {
  for (const openFilesMax of [200, 1_024, 4_096, 20_000]) {
    const count = boundConnections(openFilesMax, one);
    expect(count).toBeGreaterThanOrEqual(16);
    // What a service with one dataset was seen to have open, and as many files of segments again, or all that it keeps.
    const segments = Math.min(count, 2_048);
    expect(count + segments + 64).toBeLessThan(openFilesMax);
  }
  expect(boundConnections(1_024, { ...one, datasets: 4 })).toBeLessThan(
    boundConnections(1_024, one),
  );
  expect(() => boundConnections(64, one)).toThrow(/ulimit -n.*openFilesMax 64, needed 144/);
});

test('error: open-files-too-few: a service is not loaded where its modules find no room', () => {
  for (const openFilesMax of [256, 1_024, null]) refuseFewFiles(openFilesMax);
  expect(() => refuseFewFiles(255)).toThrow(/ulimit -n.*openFilesMax 255, needed 256/);
});

test('default: files for twenty thousand are enough for all connections that are let in', () => {
  const count = boundConnections(20_000, one);
  expect(count).toBeGreaterThanOrEqual(HTTP_LIMITS.connectionCountMax);
});
