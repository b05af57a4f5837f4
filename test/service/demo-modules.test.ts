import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-modules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const dataUrl = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
/** Writes the address of every module that the process loads to a file. */
const hooks = dataUrl(`import { appendFileSync } from 'node:fs';
export function load(url, context, next) {
  appendFileSync(process.env.LOADED_MODULES, url + '\\n');
  return next(url, context);
}`);
const recorder = dataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(hooks)});`,
);

/** Returns the paths of the modules that a file of the bundled command consists of. */
function listBundled(url: string): readonly string[] {
  if (!url.includes('/dist/bundle/')) return [];
  return [...readFileSync(new URL(url), 'utf8').matchAll(/^\/\/ (\S+\.[cm]?js)$/gm)].map(
    ([, path = '']) => path,
  );
}

test('default: the demo loads no module for object stores, message servers or several machines', async () => {
  const file = join(folder, 'modules');
  const service = await ServiceProcess.startDemo(join(folder, 'data'), undefined, {
    NODE_OPTIONS: `--import=${recorder}`,
    LOADED_MODULES: file,
  });
  const response = await service.query('/datasets/demo/stream', { fromBlock: 0, toBlock: 5 });
  await response.text();
  await service.end('SIGTERM');
  const urls = readFileSync(file, 'utf8').split('\n');
  const dependencies = [...urls, ...urls.flatMap(listBundled)];
  // The recorder works.
  expect(dependencies.some((url) => url.endsWith('/dist/cli/main.js'))).toBe(true);
  expect(dependencies.length).toBeGreaterThan(100);
  const remote =
    /node_modules\/(aws4fetch|@nats-io)\/|\/dist\/(object-store|cluster|app\/remote)\//;
  expect(dependencies.filter((url) => remote.test(url))).toEqual([]);
});
