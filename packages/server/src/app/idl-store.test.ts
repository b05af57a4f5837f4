import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { IdlStore, readConfiguredIdls } from './idl-store.ts';

const program = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const idl = (name: string, address: string | undefined = program) =>
  JSON.stringify({ address, metadata: { name }, instructions: [] });

function logged(): { readonly log: pino.Logger; readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, log: pino({}, { write: (line) => void lines.push(line) }) };
}

test('behavior: files and folders of the configuration are read with their slots, and bad files are logged and left out', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-idl-'));
  mkdirSync(join(folder, 'all'));
  writeFileSync(join(folder, 'all', 'a.json'), idl('new'));
  writeFileSync(join(folder, 'all', 'b.json'), '{');
  writeFileSync(join(folder, 'all', 'readme.txt'), 'not an IDL');
  writeFileSync(join(folder, 'old.json'), JSON.stringify({ name: 'old', instructions: [] }));
  const { log, lines } = logged();
  const idls = readConfiguredIdls(
    [
      { path: join(folder, 'all'), fromSlot: 100 },
      { path: join(folder, 'old.json'), programId: program, toSlot: 99 },
      { path: join(folder, 'absent.json') },
      { path: join(folder, 'all'), fromSlot: 101, toSlot: 100 },
    ],
    log,
  );
  const store = new IdlStore(() => undefined);
  store.configure(idls);
  const nameAt = (slot: number) => store.registry.find(program, slot)?.description.name;
  expect([99, 100].map(nameAt)).toEqual(['old', 'new']);
  expect(lines.filter((line) => line.includes('b.json'))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('absent.json'))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('fromSlot is above toSlot'))).toHaveLength(1);
  expect(lines).toHaveLength(3);
});

test('behavior: the IDLs of an operator stay when the configuration is read again, and replace those with the same name', () => {
  const changes: number[] = [];
  const store = new IdlStore((idls) => changes.push(idls.length));
  store.configure([{ name: 'a', text: idl('configured') }]);
  store.put({ name: 'a', text: idl('registered') });
  store.configure([
    { name: 'a', text: idl('again') },
    { name: 'b', text: idl('other', '11111111111111111111111111111111') },
  ]);
  expect(store.list().map(({ program: name, origin }) => [name, origin])).toEqual([
    ['other', 'configuration'],
    ['registered', 'operator'],
  ]);
  expect(store.remove('a')).toBe(true);
  expect(store.registry.find(program, 0)?.description.name).toBe('again');
  expect(changes).toEqual([1, 1, 2, 2]);
  expect(store.registry.version).toBe(4);
});
