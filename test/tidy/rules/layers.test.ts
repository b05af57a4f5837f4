import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findLayerBreaches } from './layers.ts';

function judge(path: string, specifier: string): string[] {
  const text = `import { x } from '${specifier}';`;
  return findLayerBreaches([parseSource({ path, text })]).map(({ message }) => message);
}

const server = 'packages/server/src';

test('default: imports from a lower layer or the same folder are allowed', () => {
  expect(judge(`${server}/engine/plan.ts`, '../segment/read-segment.ts')).toEqual([]);
  expect(judge(`${server}/engine/plan.ts`, './select.ts')).toEqual([]);
  expect(judge('packages/kernels/src/load-kernel.ts', '@sluice/base/worker-url')).toEqual([]);
  expect(judge(`${server}/query/parse-query.ts`, '@sluice/protocol/fields')).toEqual([]);
});

test('error: an import from a higher layer is found, with a hint how to avoid it', () => {
  expect(judge(`${server}/engine/plan.ts`, '../http/routes.ts')).toEqual([
    'engine must not import http: take a function as a parameter',
  ]);
});

test('error: an import type or a dynamic import counts as an import', () => {
  const path = `${server}/storage/fs.ts`;
  const text =
    "type A = import('../chain/chain.ts').Chain; const b = await import('../http/a.ts');";
  expect(findLayerBreaches([parseSource({ path, text })])).toHaveLength(2);
});

test('error: folders of one layer must not import each other, except in tests', () => {
  expect(judge(`${server}/segment/a.ts`, '../query/b.ts')).toEqual([
    'segment must not import query: move what both need to a layer below',
  ]);
  expect(judge(`${server}/segment/a.test.ts`, '../query/b.ts')).toEqual([]);
  expect(judge(`${server}/segment/a.test.ts`, '../engine/b.ts')).toHaveLength(1);
});

test('error: a file outside the layers is found', () => {
  expect(judge(`${server}/stuff/a.ts`, '../chain/chain.ts')).toEqual([
    'stuff is no layer: add it to the table, or use an existing folder',
  ]);
});

test('error: a package may import only the packages below it', () => {
  expect(judge('packages/client/src/client.ts', '@sluice/server/chain/a')).toEqual([
    'packages/client must not import packages/server: it may import protocol',
  ]);
  expect(judge('packages/web/src/main.tsx', '../../client/src/client.ts')).toEqual([]);
  expect(judge('packages/web/src/main.tsx', '../../server/src/http/a.ts')).toHaveLength(1);
  expect(judge(`${server}/cli/main.ts`, '../../../../bench/run.ts')).toHaveLength(1);
  expect(judge('bench/run.ts', '../packages/server/src/http/a.ts')).toEqual([]);
});

test('error: only tests may import test code', () => {
  expect(judge(`${server}/chain/a.ts`, './testing/b.ts')).toHaveLength(1);
  expect(judge(`${server}/chain/a.test.ts`, './testing/b.ts')).toEqual([]);
  expect(judge('bench/run.ts', '../packages/server/src/chain/testing/b.ts')).toHaveLength(1);
});

test('error: pure layers must not open files or sockets', () => {
  expect(judge(`${server}/chain/a.ts`, 'node:fs')).toEqual([
    'chain must not import node:fs: take functions that read and write as parameters',
  ]);
  expect(judge(`${server}/chain/a.test.ts`, 'node:fs')).toEqual([]);
  expect(judge(`${server}/storage/a.ts`, 'node:fs')).toEqual([]);
  expect(judge(`${server}/chain/a.ts`, 'node:events')).toEqual([]);
});
