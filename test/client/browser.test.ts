/** The client as a browser loads it: one bundle that only uses the web platform. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { build } from 'vite';
import { afterAll, expect, test } from 'vitest';
import { ModelChain } from '../../packages/client/src/testing/model-chain.ts';
import { ScriptedService } from '../../packages/client/src/testing/scripted-service.ts';
import { repositoryRoot } from '../repository-files.ts';

/** A folder inside the repository, so that its packages are found. */
const folder = mkdtempSync(join(repositoryRoot, 'node_modules', '.browser-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bundles a module that imports the built package. */
async function bundle(code: string): Promise<string> {
  const entry = join(folder, 'entry.js');
  writeFileSync(entry, code);
  const result = await build({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: true, lib: { entry, formats: ['iife'], name: 'entry' } },
  });
  const [output] = Array.isArray(result) ? result : [result];
  if (output === undefined || !('output' in output)) throw new Error('no bundle');
  return output.output[0].code;
}

const webGlobals = [
  'AbortController',
  'AbortSignal',
  'Headers',
  'ReadableStream',
  'Request',
  'Response',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'clearTimeout',
  'crypto',
  'fetch',
  'performance',
  'setTimeout',
] as const;

test('behavior: the client runs with only the globals of the web platform', async () => {
  const code = await bundle(`
    import { createClient } from '@sluice/client';
    export async function run(url) {
      const query = { fromBlock: 0, toBlock: 3, fields: { transaction: { fee: true } }, transactions: [{}] };
      const fees = [];
      for await (const batch of createClient({ url }).stream(query)) {
        for (const block of batch.blocks) fees.push(...block.transactions.map(({ fee }) => String(fee)));
      }
      return fees;
    }`);
  expect(code).not.toMatch(/node:|require\(/);
  const chain = new ModelChain();
  chain.extend([1, 1, 1, 1, 1].map((gap) => ({ gap, matches: true })));
  const service = await ScriptedService.start(chain);
  try {
    const context = createContext(
      Object.fromEntries(webGlobals.map((name) => [name, globalThis[name]])),
    );
    runInContext(code, context);
    const fees = (await runInContext(`entry.run('${service.url}')`, context)) as string[];
    expect([...fees]).toEqual([
      '18446744073709550000',
      '18446744073709550001',
      '18446744073709550002',
      '18446744073709550003',
    ]);
  } finally {
    await service.close();
  }
});

test('limit: a bundle that uses one helper contains only that helper, and the whole client is small', async () => {
  const helper = await bundle(`export { encodeBase58 } from '@sluice/client';`);
  expect(helper.length).toBeLessThan(3_000);
  const whole = await bundle(`export { createClient } from '@sluice/client';`);
  expect(whole.length).toBeLessThan(40_000);
});
