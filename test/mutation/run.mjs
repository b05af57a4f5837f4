/**
 * Mutation testing of a folder of packages/server/src: changes its code in many small ways, one at a time, and runs the
 * tests that reach the change.
 *
 *   npm run test:mutation -- chain                  all files of the folder
 *   npm run test:mutation -- chain --files link     only files whose path contains "link"
 *   npm run test:mutation -- http --sample 300      300 mutants, always the same ones while the code is the same
 *   npm run test:mutation -- chain --report         the results so far
 *
 * Every result is kept at once in `.mutation`. A later call tries only mutants whose file has changed, or that no test
 * noticed while tests have changed. So an interrupted call can be continued.
 */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { parseArgs } from 'node:util';
import { hashOf } from './hash.mjs';
import { makeMutants } from './mutants.mjs';
import { printReport } from './report.mjs';

/** A mutant that stops the process for longer than this, in an endless loop, counts as noticed. */
const stallMsMax = 30_000;
/** A round ends early only where a mutant left something behind, stopped the process or crashed it. */
const roundCountMax = 200;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    files: { type: 'string', default: '' },
    sample: { type: 'string' },
    report: { type: 'boolean', default: false },
  },
});
const [folder] = positionals;
if (folder === undefined) {
  process.stderr.write(
    'usage: npm run test:mutation -- FOLDER [--files PART] [--sample COUNT] [--report]\n',
  );
  process.exit(64);
}

mkdirSync('.mutation', { recursive: true });
const logPath = `.mutation/${folder}.jsonl`;
const currentPath = `.mutation/${folder}.current`;
const { code, sources, mutants: all } = await makeMutants(folder, values.files);
const mutants = values.sample === undefined ? all : takeSample(all, Number(values.sample));

let rounds = 0;
while (!values.report && rounds++ < roundCountMax) {
  const before = readLog().length;
  const isOver = await runRound();
  const added = readLog().slice(before);
  if (isOver && !added.some(({ result }) => result === 'dirty')) break;
}
printReport({ folder, mutants, sources, log: readLog(), sampledFrom: all.length });

/** Keys are hashes, so their order is random, but the same for the same code. */
function takeSample(mutants, count) {
  return [...mutants].sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, count);
}

/** Returns the results that are still valid: those of test files that have not changed since. */
function readLog() {
  if (!existsSync(logPath)) return [];
  const hashes = new Map();
  const isCurrent = ({ file, hash }) => {
    if (file === undefined) return true;
    if (!hashes.has(file)) {
      hashes.set(file, existsSync(file) ? hashOf(readFileSync(file, 'utf8')) : '');
    }
    return hashes.get(file) === hash;
  };
  const lines = readFileSync(logPath, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter(isCurrent);
}

/** Returns whether the tests ran to their end. */
async function runRound() {
  const log = readLog();
  const noticed = new Set(
    log.filter(({ result }) => result === 'killed' || result === 'stalled').map(({ key }) => key),
  );
  const tried = log.filter(({ result }) => result === 'survived');
  const work = {
    code,
    pending: mutants.filter(({ key }) => !noticed.has(key)).map(({ id, key }) => ({ id, key })),
    tried: tried.map(({ key, name }) => `${key} ${name}`),
  };
  writeFileSync(`.mutation/${folder}.work.json`, JSON.stringify(work));
  writeFileSync(currentPath, '');
  process.stdout.write(`${folder}: ${work.pending.length} mutants not noticed yet\n`);
  if (work.pending.length === 0) return true;
  await runTests();
  const current = readFileSync(currentPath, 'utf8');
  if (current === '') return true;
  appendFileSync(logPath, `${JSON.stringify({ ...JSON.parse(current), result: 'stalled' })}\n`);
  return false;
}

/** Runs vitest, and ends it if one mutant takes too long. */
async function runTests() {
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/vitest.config.mjs'],
    {
      stdio: ['ignore', 'ignore', openSync(`.mutation/${folder}.stderr`, 'w')],
      detached: true,
      env: {
        ...process.env,
        MUTATION_FOLDER: folder,
        // Repeated tests add many listeners to the signal that vitest gives to a test.
        NODE_OPTIONS: '--disable-warning=MaxListenersExceededWarning',
      },
    },
  );
  const stop = () => process.kill(-child.pid, 'SIGKILL');
  const stopAll = () => {
    stop();
    process.exit(130);
  };
  process.once('SIGINT', stopAll).once('SIGTERM', stopAll);
  let last = { text: '', sinceMs: Date.now() };
  const watch = setInterval(() => {
    const text = readFileSync(currentPath, 'utf8');
    if (text !== last.text) last = { text, sinceMs: Date.now() };
    else if (text !== '' && Date.now() - last.sinceMs > stallMsMax) stop();
  }, 1_000);
  await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(watch);
  process.off('SIGINT', stopAll).off('SIGTERM', stopAll);
}
