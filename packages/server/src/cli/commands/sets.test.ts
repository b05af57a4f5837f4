import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Portal, startPortal } from '../../app/testing/start-portal.ts';
import { MATCH } from '../../stream/testing/make-block.ts';
import { MemoryDataset } from '../../stream/testing/memory-dataset.ts';
import { runMain } from '../testing/run-main.ts';

let data: string;
let portal: Portal;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'sluice-sets-'));
  portal = await startPortal(new MemoryDataset({ anchor: 98 }), data);
});
afterEach(async () => {
  await portal.close();
  rmSync(data, { recursive: true });
});

const sets = (...args: string[]) => runMain(['sets', ...args, '--admin', portal.adminUrl]);

test('default: a set is stored, listed and removed', async () => {
  const file = join(data, 'list.txt');
  writeFileSync(file, `# mine\n${MATCH}\n`);
  const stored = await sets('put', 'mine', file);
  expect(stored.out).toMatch(/^set mine: version [0-9a-f]{16}, number of addresses: 1\n$/);
  const listed = await sets('list');
  expect(listed.out).toMatch(/^set +addresses +version +bytes of memory\nmine +1 +[0-9a-f]{16} /);
  expect(JSON.parse((await sets('list', '--json')).out)).toMatchObject([
    { name: 'mine', addresses: 1 },
  ]);
  expect((await sets('remove', 'mine')).out).toBe('removed set mine\n');
  expect((await sets('list')).out).toBe('no sets\n');
});

test('error: the code of the service, of a file, and of a service that is not there', async () => {
  const file = join(data, 'list.txt');
  writeFileSync(file, 'wrong\n');
  expect((await sets('put', 'mine', file)).err).toContain('set-invalid');
  expect((await sets('put', 'mine', join(data, 'absent'))).err).toContain('cli-file-unreadable');
  expect((await sets('remove', 'mine')).err).toContain('set-unknown');
  const nowhere = await runMain(['sets', 'list', '--admin', 'http://127.0.0.1:1']);
  expect(nowhere.err).toContain('service-unreachable');
});

test('error: a file without addresses does not replace a set', async () => {
  const file = join(data, 'list.txt');
  writeFileSync(file, `${MATCH}\n`);
  await sets('put', 'mine', file);
  writeFileSync(file, '# nothing yet\n\n');
  const { code, err } = await sets('put', 'mine', file);
  expect(code).toBe(1);
  expect(err).toContain('set-empty');
  expect(err).toContain('sluice sets remove');
  expect(err).not.toContain('SLUICE_KEY');
  expect(JSON.parse((await sets('list', '--json')).out)).toMatchObject([{ addresses: 1 }]);
});

test('error: a name that is not allowed is refused with the allowed ones', async () => {
  const file = join(data, 'list.txt');
  writeFileSync(file, `${MATCH}\n`);
  for (const args of [
    ['put', 'a b', file],
    ['remove', 'a b'],
  ]) {
    const { code, err } = await sets(...args);
    expect(code).toBe(2);
    expect(err).toContain(
      'found a b, fault is not the name of a set, allowed 1 to 64 letters, digits, _ and -',
    );
  }
});
