import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { serveFolder } from '../../app/serve-folder.ts';
import { runMain } from '../testing/run-main.ts';
import { makeSmallDataFolder, whileHeld } from '../testing/small-data-folder.ts';

const made = mkdtempSync(join(tmpdir(), 'sluice-tools-made-'));
let folder: string;
let data: string;
let slots: readonly number[];

/** Creates the data folder that each test copies. */
beforeAll(async () => {
  slots = await makeSmallDataFolder(made);
  const there = join(made, 'data');
  // Neither of these is a dataset.
  mkdirSync(join(there, 'other'));
  writeFileSync(join(there, 'file'), '');
});
afterAll(() => rmSync(made, { recursive: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tools-'));
  data = join(folder, 'data');
  cpSync(made, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => runMain(args);

function segmentFile(): string {
  const segments = join(data, 'mine/segments');
  return join(segments, readdirSync(segments)[0] as string);
}

describe('sluice dataset list', () => {
  test('default: the datasets of a folder are shown as a table or as JSON, also while a service uses it', async () => {
    const journal = join(data, 'mine/journal');
    const journalBytes = readdirSync(journal).map((name) => statSync(join(journal, name)).size);
    const bytes = statSync(segmentFile()).size + journalBytes.reduce((sum, size) => sum + size, 0);
    const table = await whileHeld(data, () => run('dataset', 'list', '--data', data));
    expect(table.code).toBe(0);
    const [heading, row, ...more] = table.out.trimEnd().split('\n');
    expect(heading?.split(/ +/)).toEqual(
      'dataset votes start finalized head blocks bytes'.split(' '),
    );
    const [start, head] = [slots[0], slots.at(-1)];
    const cells = ['mine', 'drop', start, head, head, 5, bytes.toLocaleString('en-US')].map(String);
    expect(row?.split(/ +/)).toEqual(cells);
    expect(more).toEqual([]);
    const { out } = await run('dataset', 'list', '--data', data, '--json');
    expect(JSON.parse(out)).toEqual([
      { name: 'mine', votes: 'drop', start, finalized: head, head, blocks: 5, bytes },
    ]);
  });

  test('behavior: a name is aligned to the left even if it is a number', async () => {
    const blocks = join(folder, 'blocks.jsonl');
    await run('import', '--data', join(data, 'numbers'), '--dataset', '25x', blocks);
    const { out } = await run('dataset', 'list', '--data', join(data, 'numbers'));
    expect(out).toMatch(/^25x {2,}drop/m);
  });

  test('behavior: a dataset that cannot be read is listed with the error code', async () => {
    writeFileSync(join(data, 'mine/manifest.json'), '{}');
    const { code, out } = await run('dataset', 'list', '--data', data);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^mine .*\[dataset-manifest-damaged\]$/m),
    ]);
  });

  test('behavior: an empty folder has no dataset; error: a missing folder is named', async () => {
    const empty = await run('dataset', 'list', '--data', join(data, 'other'));
    expect([empty.code, empty.out]).toEqual([
      0,
      `There is no dataset in ${join(data, 'other')}.\n`,
    ]);
    const missing = await run('dataset', 'list', '--data', join(data, 'nowhere'));
    expect(missing.code).toBe(1);
    expect(missing.err).toContain(`folder ${join(data, 'nowhere')}`);
  });
});

describe('sluice dataset drop', () => {
  test('default: with --yes the dataset is removed, and its name can be used again', async () => {
    const { code, out } = await run('dataset', 'drop', 'mine', '--data', data, '--yes');
    expect([code, out]).toEqual([0, 'mine was removed: 5 blocks\n']);
    expect(readdirSync(data).sort()).toEqual(['file', 'other']);
    const blocks = join(folder, 'blocks.jsonl');
    const again = await run('import', '--data', data, '--dataset', 'mine', blocks);
    expect(again.out).toContain('5 blocks imported; now');
  });

  test('error: dataset-drop-unconfirmed: without --yes the error shows what would be lost', async () => {
    const { code, err } = await run('dataset', 'drop', 'mine', '--data', data);
    expect(code).toBe(1);
    expect(err).toContain(`dataset mine, blocks 5, start ${slots[0]}, head ${slots.at(-1)}, bytes`);
    expect(err).toContain('[dataset-drop-unconfirmed]');
    expect(existsSync(segmentFile())).toBe(true);
  });

  test('error: data-folder-locked: refused while a service uses the folder', async () => {
    const { code, err } = await whileHeld(data, () =>
      run('dataset', 'drop', 'mine', '--data', data, '--yes'),
    );
    expect([code, err]).toEqual([1, expect.stringContaining('[data-folder-locked]')]);
    expect(existsSync(segmentFile())).toBe(true);
  });

  test('error: dataset-folder-shared: a folder that contains other datasets is not made a dataset, and is not removed with one', async () => {
    // npm start keeps its datasets in ./data/demo, which may be next to an import into ./data.
    const blocks = join(folder, 'blocks.jsonl');
    await run('import', '--data', join(data, 'demo'), '--dataset', 'theirs', blocks);
    const made = await run('import', '--data', data, '--dataset', 'demo', blocks);
    expect([made.code, made.err]).toEqual([1, expect.stringContaining('[dataset-folder-shared]')]);
    writeFileSync(join(data, 'demo/manifest.json'), readFileSync(join(data, 'mine/manifest.json')));
    const dropped = await run('dataset', 'drop', 'demo', '--data', data, '--yes');
    expect([dropped.code, dropped.err]).toEqual([1, expect.stringContaining('datasets theirs')]);
    expect(existsSync(join(data, 'demo/theirs/manifest.json'))).toBe(true);
  });

  test.each(['other', 'file', '../data/mine', 'yours'])(
    'error: dataset-missing: %s is not a dataset of the folder',
    async (name) => {
      const { code, err } = await run('dataset', 'drop', name, '--data', data, '--yes');
      expect([code, err]).toEqual([1, expect.stringContaining('[dataset-missing]')]);
      expect(existsSync(segmentFile())).toBe(true);
    },
  );

  test('behavior: the next command that writes removes what an interrupted drop left', async () => {
    const left = join(data, 'yours.dropped');
    mkdirSync(join(left, 'segments'), { recursive: true });
    expect((await run('dataset', 'list', '--data', data)).code).toBe(0);
    expect(existsSync(left)).toBe(true);
    expect((await run('dataset', 'drop', 'mine', '--data', data, '--yes')).code).toBe(0);
    expect(existsSync(left)).toBe(false);
  });

  test('behavior: a damaged dataset can be dropped', async () => {
    writeFileSync(join(data, 'mine/manifest.json'), '{}');
    const { code, out } = await run('dataset', 'drop', 'mine', '--data', data, '--yes');
    expect([code, out]).toEqual([0, 'mine was removed\n']);
  });
});

describe('sluice verify', () => {
  test('default: an undamaged dataset passes, also while a service uses it', async () => {
    const { code, out, err } = await whileHeld(data, () => run('verify', '--data', data));
    expect([code, out]).toEqual([0, 'mine: no damage found\n']);
    expect(err).toMatch(/^5 blocks, /);
  });

  test('behavior: an incomplete record at the end of the journal is noted, and is no damage', async () => {
    const [journal] = readdirSync(join(data, 'mine/journal'));
    appendFileSync(join(data, 'mine/journal', journal as string), 'cut off');
    const { code, out } = await run('verify', '--data', data);
    expect([code, out.split('\n')]).toEqual([
      0,
      [
        'mine: note: the journal ends with 7 bytes that are no complete record, which the next start discards',
        'mine: no damage found',
        '',
      ],
    ]);
  });

  test('error: verify-damaged: each damage is printed, and the exit code is 1', async () => {
    const path = segmentFile();
    const bytes = readFileSync(path);
    bytes[100] = (bytes[100] as number) ^ 1;
    writeFileSync(path, bytes);
    const { code, out, err } = await run('verify', '--data', data, '--dataset', 'mine');
    expect([code, err]).toEqual([1, expect.stringContaining('(damages 1) [verify-damaged]')]);
    expect(out).toMatch(/^mine: segments\/\S+\.segment: .*\(unit .+\) \[segment-damaged\]\n$/);
  });

  test('error: storage-missing: a plain file is not a data folder, and the error names it', async () => {
    const path = join(folder, 'plain-file');
    writeFileSync(path, '');
    const { code, err } = await run('verify', '--data', path);
    expect([code, err]).toEqual([1, expect.stringContaining(`does not exist (folder ${path}`)]);
  });

  test('error: a folder without datasets is an error', async () => {
    const unknown = await run('verify', '--data', data, '--dataset', 'yours');
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('[dataset-missing]')]);
    const empty = await run('verify', '--data', join(data, 'other'));
    expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('[datasets-missing]')]);
  });
});

describe('segments by the name of their dataset', () => {
  test('behavior: inspect shows all segments of a dataset together', async () => {
    const { code, out } = await run('inspect', 'mine', '--data', data);
    expect(code).toBe(0);
    expect(out).toContain(`mine: segment of version`);
    const file = JSON.parse((await run('inspect', segmentFile(), '--json')).out) as object;
    const named = JSON.parse(
      (await run('inspect', 'mine', '--data', data, '--json')).out,
    ) as object;
    expect(named).toEqual(file);
  });

  test('behavior: several segments add up, part by part', async () => {
    const all = join(folder, 'all.jsonl');
    await run('simulate', '--seed', '4', '--start-slot', '300', '--blocks', '10', '--out', all);
    const lines = readFileSync(all, 'utf8').trimEnd().split('\n');
    const two = join(folder, 'two');
    for (const half of [lines.slice(0, 5), lines.slice(5)]) {
      writeFileSync(all, `${half.join('\n')}\n`);
      await run('import', '--data', two, '--dataset', 'mine', all);
    }
    const { out } = await run('inspect', '--json', 'mine', '--data', two);
    const { segmentCount, blockCount, fileBytes, parts } = JSON.parse(out) as {
      segmentCount: number;
      blockCount: number;
      fileBytes: number;
      parts: { storedBytes: number }[];
    };
    expect([segmentCount, blockCount]).toEqual([2, 10]);
    const files = readdirSync(join(two, 'mine/segments'));
    const sizes = files.map((name) => statSync(join(two, 'mine/segments', name)).size);
    expect(fileBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect(parts.reduce((sum, { storedBytes }) => sum + storedBytes, 0)).toBe(fileBytes);
  });

  test('behavior: explain runs over the segments of a dataset', async () => {
    const query = join(folder, 'q.json');
    writeFileSync(query, '{"fromBlock":0,"transactions":[{}]}');
    const { code, out } = await run('explain', '--query', query, '--data', data, '--json', 'mine');
    expect(code).toBe(0);
    const { segments } = JSON.parse(out) as { segments: { path: string; blockCount: number }[] };
    expect(segments).toMatchObject([{ path: segmentFile(), blockCount: 5 }]);
  });

  test('behavior: explain does not open the segments that an index over segments excludes', async () => {
    const blocks = readFileSync(join(folder, 'blocks.jsonl'), 'utf8').trimEnd().split('\n');
    const parts = join(folder, 'parts');
    for (const [i, line] of blocks.entries()) {
      const path = join(folder, `${i}.jsonl`);
      writeFileSync(path, `${line}\n`);
      await run('import', '--data', parts, '--dataset', 'mine', path);
    }
    const query = join(folder, 'q.json');
    // Four segments get an index together; the fifth has none yet.
    const programId = ['SysvarNothing111111111111111111111111111111'];
    writeFileSync(query, JSON.stringify({ fromBlock: 0, instructions: [{ programId }] }));
    const { out } = await run('explain', '--query', query, '--data', parts, '--json', 'mine');
    const { excluded, segments } = JSON.parse(out) as { excluded: object[]; segments: object[] };
    expect(excluded).toMatchObject([{ dataset: 'mine', segmentCount: 5, excludedCount: 4 }]);
    expect(segments).toHaveLength(1);
    const { out: text } = await run('explain', '--query', query, '--data', parts, 'mine');
    expect(text).toContain('exclude 4 of 5 segments');
    // The last segment of the range is always read, because it shows how far the answer goes.
    const range = { fromBlock: slots[0], toBlock: slots[2] };
    writeFileSync(query, JSON.stringify({ ...range, instructions: [{ programId }] }));
    const { out: part } = await run('explain', '--query', query, '--data', parts, 'mine');
    expect(part).toContain('exclude 2 of 3 segments');
    expect(part).toContain('2 others are outside the range');
  });

  test('error: an argument that is neither a file nor a dataset is reported as a missing file', async () => {
    const { code, err } = await run('inspect', 'nothing', '--data', data);
    expect([code, err]).toEqual([1, expect.stringContaining('nothing')]);
  });
});

describe('sluice repair', () => {
  test('default: a missing segment is copied from a backup; an intact dataset is not changed', async () => {
    const backup = join(folder, 'backup');
    await run('backup', '--data', data, '--to', backup);
    rmSync(segmentFile());
    const repair = () => run('repair', 'mine', '--data', data, '--from', backup);
    expect(await repair()).toMatchObject({ code: 0, out: expect.stringContaining('repaired') });
    expect(await repair()).toMatchObject({ code: 0, out: 'mine: no damage found\n' });
    expect((await run('verify', '--data', data)).code).toBe(0);
  });

  test('error: repair-incomplete: damage that no source can repair is listed', async () => {
    const backup = join(folder, 'backup');
    await run('backup', '--data', data, '--to', backup);
    writeFileSync(join(data, 'mine/manifest.json'), '{}');
    const { code, out, err } = await run('repair', 'mine', '--data', data, '--from', backup);
    expect([code, out]).toEqual([1, expect.stringContaining('manifest.json: still damaged')]);
    expect(err).toContain('[repair-incomplete]');
  });

  test('error: without a source, an unknown dataset and a folder in use are refused', async () => {
    expect((await run('repair', 'mine', '--data', data)).code).not.toBe(0);
    const other = await run('repair', 'nothing', '--data', data, '--from', folder);
    expect(other.err).toContain('[dataset-missing]');
    const nowhere = join(folder, 'nowhere');
    const missing = await run('repair', 'mine', '--data', data, '--from', nowhere);
    expect(missing.err).toContain(`(from ${nowhere}, dataset mine) [backup-missing]`);
    const locked = await whileHeld(data, () =>
      run('repair', 'mine', '--data', data, '--from', folder),
    );
    expect(locked.err).toContain('[data-folder-locked]');
  });
});

describe('verify --against', () => {
  /** Serves a copy of the dataset in which one log differs, or an equal one. */
  async function against(change: (line: string) => string, ...options: string[]) {
    const lines = readFileSync(join(folder, 'blocks.jsonl'), 'utf8').trimEnd().split('\n');
    const other = join(folder, 'other.jsonl');
    writeFileSync(other, `${lines.map((line, i) => (i === 3 ? change(line) : line)).join('\n')}\n`);
    const dataFolder = join(folder, 'elsewhere');
    await run('import', '--data', dataFolder, '--dataset', 'mine', other);
    const service = await serveFolder(
      { dataFolder, name: 'mine', version: '0.0.0-test' },
      { clock: systemClock },
    );
    process.env['SLUICE_KEY'] = service.key;
    try {
      return await run('verify', '--data', data, '--against', service.url, ...options);
    } finally {
      delete process.env['SLUICE_KEY'];
      await service.close();
    }
  }
  const [start, end] = [() => slots[0], () => slots.at(-1)];

  test('default: equal datasets have equal digests', async () => {
    const { code, out } = await against((line) => line, '--dataset', 'mine');
    expect(out).toMatch(`from slot ${start()} to ${end()}: 5 blocks`);
    expect(code).toBe(0);
  });

  test('behavior: the first different block is found, with what differs', async () => {
    const change = (line: string) => line.replace('"fee":5000', '"fee":5001');
    const { code, out, err } = await against(change);
    expect(out).toContain(`first at slot ${slots[3]}, after 3 equal blocks`);
    expect(out).toMatch(/different: transactions \(\d+ in both\)\n/);
    expect(err).toContain('verify-different');
    expect(code).toBe(1);
  });

  test('behavior: a range below the difference is equal', async () => {
    const change = (line: string) => line.replace('"fee":5000', '"fee":5001');
    const { code } = await against(change, '--to', String(slots[2]));
    expect(code).toBe(0);
  });

  test('error: verify-nothing-shared if the datasets have no slot in common', async () => {
    const { err } = await against((line) => line, '--from', '100000');
    expect(err).toContain('verify-nothing-shared');
  });
});
