/**
 * Plants each bug of `planted-bugs.mjs` in a copy of the repository and reports what finds it: `npm run test:bugs`.
 *
 *   npm run test:bugs -- --seconds 60 --only fork     a minute of simulation for each bug whose name contains "fork"
 *   npm run test:bugs -- --by tests                   without the simulation
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../read-options.mjs';
import { plantedBugs } from './planted-bugs.mjs';

const usage = `usage: npm run test:bugs -- [--seconds N] [--only TEXT] [--by simulation,tests]

Plants each bug in a copy of the repository, and reports what finds it.

  --seconds N  the time of the simulation for each bug (default 300)
  --only TEXT  only the bugs whose name contains the text
  --by WHAT    the simulation, the tests or both (default)
`;
const values = readOptions(usage, {
  seconds: { type: 'string', default: '300' },
  only: { type: 'string', default: '' },
  by: { type: 'string', default: 'simulation,tests' },
});
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const secondsMax = Number(values.seconds);
const copied = [
  'package.json',
  'package-lock.json',
  'vitest.config.ts',
  'packages',
  'test',
  'docs',
];
const configuration = [
  'tsconfig.base.json',
  'tsconfig.json',
  'README.md',
  'ARCHITECTURE.md',
  'bench',
];
const bundle = 'node_modules/.simulation/simulate.mjs';

/** Copies what the simulation and the tests need. The copy has the dependencies of the repository, and its own packages. */
function makeCopy() {
  spawnSync(process.execPath, ['test/simulation/run.mjs', '--help'], { cwd: root });
  const copy = mkdtempSync(join(tmpdir(), 'sluice-bugs-'));
  for (const name of [...copied, ...configuration])
    cpSync(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  mkdirSync(join(copy, 'node_modules/@sluice'), { recursive: true });
  mkdirSync(join(copy, dirname(bundle)));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@sluice' && name !== '.simulation')
      symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(copy, 'node_modules/@sluice', name));
  const text = readFileSync(join(root, bundle), 'utf8');
  writeFileSync(join(copy, bundle), text.replaceAll(`${root}/packages/`, `${copy}/packages/`));
  build(copy);
  return copy;
}

/** Builds the copy as a user does, with all checks of types. A patch that does not compile is wrong, and finds nothing. */
function build(copy) {
  const { status, stderr } = spawnSync(process.execPath, ['packages/server/bin/build.js'], {
    cwd: copy,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the copy with the bug cannot be built:\n${stderr}`);
}

/** Changes a source of the copy. Returns a function that restores it; the next build compiles it again. */
function plant(copy, { file, find, replace }) {
  const source = readFileSync(join(root, file), 'utf8');
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  build(copy);
  return () => cpSync(join(root, file), join(copy, file), { preserveTimestamps: true });
}

/** Simulates worlds in the copy until one fails. Returns the violated rule. */
function simulate(copy, { storage }) {
  const args = ['--seconds', `${secondsMax}`, '--steps', '8000'];
  if (storage !== undefined) args.push('--storage', storage);
  const script = `import(${JSON.stringify(join(copy, bundle))}).then(({ simulate }) =>
    simulate(${JSON.stringify(args)}, console.log))`;
  const child = spawn(process.execPath, ['-e', script], { cwd: copy });
  return new Promise((resolve) => {
    let output = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), secondsMax * 1000 + 30_000);
    const take = (chunk) => {
      output += chunk;
      // The run is not shrunk.
      if (/^(failed after.*|.*Error.*)\n/m.test(output)) child.kill('SIGKILL');
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('close', () => {
      clearTimeout(timer);
      resolve(/^(?:failed after action \d+: )?(\w*(?:Violation|Error).*)$/m.exec(output)?.[1]);
    });
  });
}

/** Runs tests of `npm test` and of `npm run test:service`. Returns the name of the failed one. */
async function findFailed(copy, tests) {
  let isRun = false;
  for (const config of ['vitest.config.ts', 'test/slow/vitest.config.ts']) {
    const { failed, isEmpty } = await runTests(copy, ['--config', config, ...tests]);
    if (failed !== undefined) return failed;
    isRun ||= !isEmpty;
  }
  if (!isRun) throw new Error(`there is no test ${tests.join()}`);
  return undefined;
}

/** Runs tests in a process group of their own, which is killed when they hang. */
function runTests(copy, tests) {
  const args = ['vitest', 'run', '--bail=1', '--testTimeout=60000', ...tests];
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn('npx', args, { cwd: copy, env, detached: true });
  return new Promise((resolve, reject) => {
    let output = '';
    let isHanging = false;
    const take = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const timer = setTimeout(() => {
      isHanging = true;
      process.kill(-child.pid, 'SIGKILL');
    }, 300_000);
    child.on('close', (status) => {
      clearTimeout(timer);
      // A file that cannot be loaded fails too, but without the name of a test.
      const failed = /FAIL\s+(.* > .*)/.exec(output)?.[1] ?? (isHanging ? 'it hangs' : undefined);
      const isEmpty = output.includes('No test files found');
      if (status === 0 || isEmpty || failed !== undefined) resolve({ failed, isEmpty });
      else reject(new Error(`the tests cannot be run:\n${output}`));
    });
  });
}

const copy = makeCopy();
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
process.stdout.write('| Bug | Found by | After |\n|---|---|---|\n');
let survivorCount = 0;
for (const bug of plantedBugs.filter(({ name }) => new RegExp(values.only).test(name))) {
  const restore = plant(copy, bug);
  const startMs = Date.now();
  const rule = values.by.includes('simulation') ? await simulate(copy, bug) : undefined;
  const isTested = rule === undefined && values.by.includes('tests') && bug.tests !== undefined;
  const failed = isTested ? await findFailed(copy, bug.tests) : rule;
  const how = rule === undefined ? 'a test' : 'the simulation';
  const found = failed === undefined ? 'nothing' : `${how}: ${failed.trim()}`;
  if (failed === undefined) survivorCount++;
  const seconds = Math.round((Date.now() - startMs) / 1000);
  process.stdout.write(`| ${bug.name} | ${found.replaceAll('|', '/')} | ${seconds} s |\n`);
  restore();
}
process.exitCode = survivorCount === 0 ? 0 : 1;
