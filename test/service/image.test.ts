/** Assembles the content of the image from the current build, as the Dockerfile does, and runs it without sources. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from './service-process.ts';

const dockerfile = readFileSync(join(repositoryRoot, 'Dockerfile'), 'utf8');
const root = mkdtempSync(join(tmpdir(), 'sluice-image-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Copies the packages without the files that the build stage removes. */
function copyPackages(): void {
  for (const name of readdirSync(join(repositoryRoot, 'packages'))) {
    const source = join(repositoryRoot, 'packages', name);
    const target = join(root, 'packages', name);
    for (const part of ['package.json', 'bin', 'dist']) {
      if (existsSync(join(source, part)))
        cpSync(join(source, part), join(target, part), { recursive: true });
    }
    if (existsSync(join(source, 'node_modules')))
      symlinkSync(join(source, 'node_modules'), join(target, 'node_modules'));
  }
}

function linkDependencies(): void {
  const installed = join(repositoryRoot, 'node_modules');
  mkdirSync(join(root, 'node_modules', '@sluice'), { recursive: true });
  for (const name of readdirSync(installed)) {
    if (name.startsWith('.') || name === '@sluice') continue;
    symlinkSync(join(installed, name), join(root, 'node_modules', name));
  }
  for (const name of readdirSync(join(repositoryRoot, 'packages')))
    symlinkSync(join('..', '..', 'packages', name), join(root, 'node_modules', '@sluice', name));
}

test('behavior: S-13 the image needs no sources, serves its page, and passes its own health check', async () => {
  // This copies what the build stage keeps.
  expect(dockerfile).toContain('rm -rf packages/*/src packages/*/tsconfig*.json\n');
  expect(dockerfile).toMatch(/^USER node$/m);
  copyPackages();
  linkDependencies();
  const command = join(root, 'packages/server/bin/sluice.js');
  const service = await ServiceProcess.startDemo(join(root, 'data'), command);
  const page = await (await service.get('/')).text();
  const [, script = ''] = /src="(\/assets\/[\w.-]+\.js)"/.exec(page) ?? [];
  expect((await (await service.get(script)).text()).length).toBeGreaterThan(10_000);
  // The command of the health check, with the port of this service.
  const check = /CMD \["node", "-e", "(.*)"\]/.exec(dockerfile)?.[1] ?? '';
  const port = Number(new URL(service.adminUrl).port) - 1;
  const healthy = () =>
    spawnSync(process.execPath, ['-e', check], { env: { PORT: String(port) } }).status;
  expect(healthy()).toBe(0);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(healthy()).toBe(1);
});

test('limit: S-14 the image and the systemd unit set the same heap limit', () => {
  const unit = readFileSync(join(repositoryRoot, 'ops/systemd/sluice.service'), 'utf8');
  const [image, service] = [dockerfile, unit].map(
    (text) => /NODE_OPTIONS=(\S+)/.exec(text)?.[1] ?? '',
  );
  expect(image).toBe(service);
  const print = "console.log(require('node:v8').getHeapStatistics().heap_size_limit)";
  const limitWith = (options: string) => {
    const env = { ...process.env, NODE_OPTIONS: options };
    return Number(spawnSync(process.execPath, ['-e', print], { env, encoding: 'utf8' }).stdout);
  };
  // The young generation is not part of the limit.
  expect(limitWith(image ?? '')).toBeGreaterThan(1_024 << 20);
  expect(limitWith(image ?? '')).toBeLessThan(1_200 << 20);
});
