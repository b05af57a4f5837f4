import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpFixture } from './testing/http-fixture.ts';
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

test('behavior: without a build the page explains it', () => {
  const { page, files } = readWebAssets(pathToFileURL(`${folder}/missing/`));
  expect(page.bodies.get('identity')?.toString()).toContain('npm run build');
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
    expect(unknown.status).toBe(404);
  } finally {
    await fixture.close();
  }
});
