import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { errorOf, HttpFixture } from './testing/http-fixture.ts';
import { readWebAssets } from './web-assets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-web-'));
  mkdirSync(join(folder, 'assets'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('default: assets are read with their compressed forms, and other files are ignored', () => {
  writeFileSync(join(folder, 'index.html'), '<p>page');
  writeFileSync(join(folder, 'assets', 'main-1.js'), 'let x;');
  writeFileSync(join(folder, 'assets', 'main-1.js.gz'), gzipSync('let x;'));
  writeFileSync(join(folder, 'assets', 'notes.txt'), 'no');
  const { page, files } = readWebAssets(pathToFileURL(`${folder}/`));
  expect(page.bodies.get('identity')?.toString()).toBe('<p>page');
  expect([...files.keys()]).toEqual(['main-1.js']);
  const script = files.get('main-1.js');
  expect(script?.type).toBe('text/javascript; charset=utf-8');
  expect([...(script?.bodies.keys() ?? [])]).toEqual(['gzip', 'identity']);
});

test('behavior: every kind of file has its type, and an etag that depends on its content', () => {
  writeFileSync(join(folder, 'index.html'), '<p>page');
  const types = {
    'a.js': 'text/javascript; charset=utf-8',
    'b.css': 'text/css; charset=utf-8',
    'c.svg': 'image/svg+xml',
    'd.woff2': 'font/woff2',
  };
  for (const name of Object.keys(types)) writeFileSync(join(folder, 'assets', name), 'same');
  // Compressed forms alone are no file.
  writeFileSync(join(folder, 'assets', 'e.js.br'), 'x');
  writeFileSync(join(folder, 'assets', 'c.svg.br'), 'x');
  const { page, files } = readWebAssets(pathToFileURL(`${folder}/`));
  expect(page.type).toBe('text/html; charset=utf-8');
  expect(Object.fromEntries([...files].map(([name, { type }]) => [name, type]))).toEqual(types);
  expect([...(files.get('c.svg')?.bodies.keys() ?? [])]).toEqual(['br', 'identity']);
  const etags = new Set([...files.values()].map(({ etag }) => etag));
  expect([...etags][0]).toMatch(/^"[\w-]{22}"$/);
  expect([etags.size, etags.has(page.etag)]).toEqual([1, false]);
});

test('behavior: without a build the page explains it', () => {
  const { page, files } = readWebAssets(pathToFileURL(`${folder}/missing/`));
  expect(page.bodies.get('identity')?.toString()).toContain('npm run build');
  expect([page.type, [...page.bodies.keys()]]).toEqual(['text/html; charset=utf-8', ['identity']]);
  expect(page.etag).toMatch(/^"[\w-]{22}"$/);
  expect(files.size).toBe(0);
});

test('behavior: assets are cached permanently, compressed as the browser allows, and not sent again', async () => {
  const fixture = await HttpFixture.start();
  try {
    const page = await fixture.get('/', { 'accept-encoding': 'identity' });
    const [, path = ''] = /src="(\/assets\/[\w.-]+\.js)"/.exec(page.body.toString()) ?? [];
    const plain = await fixture.get(path);
    expect(plain.headers['content-encoding']).toBe(undefined);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const encodings = { 'br, gzip': 'br', gzip: 'gzip', 'br;q=0, gzip;q=0.5': 'gzip' };
    for (const [accepted, encoding] of Object.entries(encodings)) {
      const { headers, body } = await fixture.get(path, { 'accept-encoding': accepted });
      expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding]);
      expect(body.length).toBeLessThan(plain.body.length / 2);
    }
    const etag = String(page.headers['etag']);
    expect((await fixture.get('/', { 'if-none-match': etag })).status).toBe(304);
    const unknown = await fixture.get('/assets/..%2f..%2fpackage.json');
    expect([unknown.status, errorOf(unknown).code]).toEqual([404, 'path-unknown']);
    expect(plain.headers['vary']).toBe('Accept-Encoding');
    expect(plain.headers['content-security-policy']).toBe(undefined);
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    const kept = await fixture.get(path, { 'if-none-match': String(plain.headers['etag']) });
    expect(kept.status).toBe(304);
  } finally {
    await fixture.close();
  }
});
