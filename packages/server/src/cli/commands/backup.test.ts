import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runMain } from '../testing/run-main.ts';
import { makeSmallDataFolder, whileHeld } from '../testing/small-data-folder.ts';

const made = mkdtempSync(join(tmpdir(), 'sluice-tools-made-'));
let folder: string;
let data: string;

/** Creates the data folder that each test copies. */
beforeAll(async () => {
  await makeSmallDataFolder(made);
});
afterAll(() => rmSync(made, { recursive: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tools-'));
  data = join(folder, 'data');
  cpSync(made, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => runMain(args);

describe('sluice backup and sluice restore', () => {
  test('default: a dataset in use is backed up, and restored with the same blocks', async () => {
    const target = join(folder, 'backup');
    const saved = await whileHeld(data, () =>
      run('backup', '--data', data, '--to', target, '--verify'),
    );
    expect(saved.err).not.toContain('error');
    expect(saved.out).toContain('mine: 5 blocks up to slot');
    expect(saved.out).toContain('segments of the backup are intact');
    const other = join(folder, 'restored');
    expect(await run('restore', '--data', other, '--from', target)).toMatchObject({ code: 0 });
    const listed = await Promise.all(
      [data, other].map(async (one) => {
        const [row] = JSON.parse((await run('dataset', 'list', '--data', one, '--json')).out);
        return { ...row, bytes: 0 };
      }),
    );
    expect(listed[1]).toEqual(listed[0]);
  });

  test.each([
    '{"datasets":["../outside"]}',
    '{"datasets":"mine"}',
    '{"datasets":[1]}',
    'null',
    'no JSON',
  ])('error: backup-damaged for the list of datasets %s', async (text) => {
    const target = join(folder, 'backup');
    await run('backup', '--data', data, '--to', target);
    writeFileSync(join(target, 'backup.json'), text);
    const other = join(folder, 'restored');
    const { code, err } = await run('restore', '--data', other, '--from', target);
    expect([code, err]).toEqual([1, expect.stringContaining('backup-damaged')]);
    expect(existsSync(join(folder, 'outside'))).toBe(false);
  });

  test.each(['', '/mine', '/backup', '/mine/../new/deeper'])(
    'error: backup-target-used: a target in the data folder (%s) is refused, also through a link, and nothing is removed',
    async (inside) => {
      const before = readdirSync(data, { recursive: true });
      const link = join(folder, 'link');
      symlinkSync(data, link);
      for (const to of [`${data}${inside}`, `${link}${inside}`]) {
        const { code, err } = await run('backup', '--data', data, '--to', to);
        expect([code, err], to).toEqual([1, expect.stringContaining(`(target ${to})`)]);
      }
      expect(readdirSync(data, { recursive: true })).toEqual(before);
    },
  );

  test('error: backup-target-used: another data folder that has the dataset keeps its segments', async () => {
    const other = join(folder, 'other');
    await run('import', '--data', other, '--dataset', 'mine', join(folder, 'blocks.jsonl'));
    const before = readdirSync(join(other, 'mine/segments'));
    for (const to of [other, join(other, 'mine')]) {
      const { code, err } = await run('backup', '--data', data, '--to', to);
      expect([code, err], to).toEqual([1, expect.stringContaining('[backup-target-used]')]);
    }
    expect(readdirSync(join(other, 'mine/segments'))).toEqual(before);
    expect(before).not.toEqual([]);
  });

  test('error: backup-target-used: another data folder keeps its datasets', async () => {
    const other = join(folder, 'other');
    await run('import', '--data', other, '--dataset', 'theirs', join(folder, 'blocks.jsonl'));
    const { code, err } = await run('backup', '--data', data, '--to', other);
    expect([code, err]).toEqual([1, expect.stringContaining('[backup-target-used]')]);
    expect((await run('dataset', 'list', '--data', other)).out).not.toContain('mine');
  });

  test('error: a dataset that cannot be backed up is named, and the others are backed up', async () => {
    for (const name of ['first', 'last'])
      await run('import', '--data', data, '--dataset', name, join(folder, 'blocks.jsonl'));
    const segments = join(data, 'first/segments');
    const [segment] = readdirSync(segments);
    rmSync(join(segments, String(segment)));
    const target = join(folder, 'backup');
    const { code, out, err } = await run('backup', '--data', data, '--to', target);
    expect(code).toBe(1);
    expect(err).toContain(`segments/${segment}`);
    expect(err).toContain('dataset first');
    expect(out).toMatch(/last: .*\nmine: /);
    const restored = await run('restore', 'mine', '--data', join(folder, 'new'), '--from', target);
    expect(restored.code).toBe(0);
  });

  test('error: backup-target-unknown for an empty target, a file and an unknown address', async () => {
    for (const to of ['', join(folder, 'blocks.jsonl'), 'ftp://host/x']) {
      const { code, err } = await run('backup', '--data', data, '--to', to);
      expect([code, err], to).toEqual([1, expect.stringContaining('[backup-target-unknown]')]);
      expect(err).toContain(`target ${to}`);
    }
  });

  test('error: config-value-invalid says what is wrong with the name of a bucket', async () => {
    const { code, err } = await run('backup', '--data', data, '--to', 's3://b/one');
    expect([code, err]).toEqual([1, expect.stringContaining('store.bucket')]);
    expect(err).toContain('[config-value-invalid]');
  });

  test('behavior: --verify sends a damaged file again', async () => {
    const target = join(folder, 'backup');
    await run('backup', '--data', data, '--to', target);
    const [name = ''] = readdirSync(join(target, 'mine/segments'));
    const path = join(target, 'mine/segments', name);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const other = join(folder, 'restored');
    const broken = await run('restore', '--data', other, '--from', target);
    expect(broken.err).toContain(`(file mine/segments/${name}) [backup-damaged]`);
    const resent = await run('backup', '--data', data, '--to', target, '--verify');
    expect(resent.code).toBe(0);
    expect(resent.out).toContain(`mine: segments/${name} of the backup is damaged`);
    expect(resent.out).toContain('segments of the backup are intact');
    expect((await run('restore', '--data', other, '--from', target)).code).toBe(0);
  });

  test('behavior: --replace replaces the backup of another chain', async () => {
    const target = join(folder, 'backup');
    await run('backup', '--data', data, '--to', target);
    const later = join(folder, 'later.jsonl');
    await run('simulate', '--seed', '3', '--start-slot', '900', '--blocks', '5', '--out', later);
    const other = join(folder, 'other');
    await run('import', '--data', other, '--dataset', 'mine', later);
    const refused = await run('backup', '--data', other, '--to', target);
    expect(refused.err).toContain('[backup-differs]');
    const forced = await run('backup', '--data', other, '--to', target, '--replace');
    expect(forced).toMatchObject({ code: 0, out: expect.stringContaining('mine: 5 blocks') });
  });

  test('behavior: a restore continues with the datasets that are missing', async () => {
    await run('import', '--data', data, '--dataset', 'yours', join(folder, 'blocks.jsonl'));
    const target = join(folder, 'backup');
    await run('backup', '--data', data, '--to', target);
    const other = join(folder, 'restored');
    const restore = (...names: string[]) =>
      run('restore', ...names, '--data', other, '--from', target);
    expect((await restore('mine')).code).toBe(0);
    const { code, out } = await restore();
    expect([code, out]).toEqual([0, expect.stringContaining(`mine: ${other} has it already`)]);
    expect(out).toContain('yours: 1 segments restored');
    expect((await restore()).err).toContain('[dataset-exists]');
    expect((await restore('mine')).err).toContain('[dataset-exists]');
  });
});
