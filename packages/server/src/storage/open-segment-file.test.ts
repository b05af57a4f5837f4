import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSegmentFile } from './open-segment-file.ts';

test('error: segment-missing for a file that its folder lost; without the folder only file-unreadable', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-missing-'));
  const path = join(folder, 'one.segment');
  writeFileSync(path, 'content');
  const file = openSegmentFile(path);
  expect(file.length).toBe(7);
  file.close();
  rmSync(path);
  expect(() => openSegmentFile(path)).toThrow(
    expect.objectContaining({ code: 'segment-missing', detail: { path } }),
  );
  rmSync(folder, { recursive: true });
  expect(() => openSegmentFile(path)).toThrow(expect.objectContaining({ code: 'file-unreadable' }));
});
