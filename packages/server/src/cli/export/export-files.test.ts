import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { ArrowField } from '@sluice/arrow/arrow-type';
import { buildColumns } from '@sluice/arrow/build-columns';
import { Dictionary } from '@sluice/arrow/ipc-reader';
import { systemClock } from '@sluice/base/clock';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ExportOptions, exportFiles, manifestPathOf } from './export-files.ts';
import type { TableBatch } from './read-table.ts';

const fields: readonly ArrowField[] = [
  { name: 'block_slot', type: { kind: 'int', bits: 64, isSigned: false }, isNullable: false },
  { name: 'block_time', type: { kind: 'timestamp' }, isNullable: false },
];
const daySeconds = 86_400n;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-export-files-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  rmSync(manifestPathOf(folder), { force: true });
});

/** Returns a row of a slot, whose block is of that day since 1970. */
function batchOf(slot: number): TableBatch {
  const { columns } = buildColumns(fields, [[BigInt(slot)], [BigInt(slot) * daySeconds]]);
  const batch = { length: 1, columns, dictionary: new Dictionary(undefined), metadata: new Map() };
  return { fields, batch, covered: { number: slot, hash: '' } };
}

test('error: an export fails if a file could not be written while later rows were read', async () => {
  const options: ExportOptions = {
    ...{ folder, request: {}, first: 0, last: 2, slotCount: 1 },
    format: 'jsonl',
    isByDay: true,
    force: false,
    signal: new AbortController().signal,
  };
  writeFileSync(manifestPathOf(folder), JSON.stringify({ request: {}, rows: 0, ranges: [] }));
  // The rows of the second day need a folder with this name.
  writeFileSync(join(folder, 'day=1970-01-02'), '');
  const read = async function* () {
    for (const slot of [0, 1, 2]) {
      yield batchOf(slot);
      await setImmediate();
    }
  };
  const exporting = exportFiles(options, { read, onRange: () => undefined, clock: systemClock });
  await expect(exporting).rejects.toThrow(/day=1970-01-02/);
  const { ranges } = JSON.parse(readFileSync(manifestPathOf(folder), 'utf8'));
  expect(ranges.map(({ first }: { first: number }) => first)).toEqual([0, 2]);
});
