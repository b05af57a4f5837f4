/**
 * Mutation testing of a folder of packages/server/src: changes its code in many small ways and runs its tests against each change.
 *
 *   npm run test:mutation -- chain            all files of the folder
 *   npm run test:mutation -- chain link       only files whose name contains "link"
 *
 * Each file is a separate run, whose result is kept in `.mutation`. A later call repeats only mutants whose code or tests have changed, so
 * an interrupted call can be continued. Prints the score and the mutants that no test noticed.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const [folder, part = ''] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: npm run test:mutation -- FOLDER [PART OF A FILE NAME]\n');
  process.exit(64);
}

const root = join('packages/server/src', folder);
const files = readdirSync(root, { recursive: true })
  .map((path) => join(root, path))
  .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\//.test(path))
  .filter((path) => basename(path).includes(part))
  .sort();
mkdirSync('.mutation', { recursive: true });

const totals = { noticed: 0, survived: 0 };
const survivors = [];
for (const file of files) {
  const name = file.replaceAll('/', '-').replace(/\.ts$/, '');
  const { status } = spawnSync('npx', ['stryker', 'run', 'test/mutation/stryker.config.mjs'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, MUTATION_FOLDER: folder, MUTATION_FILE: file, MUTATION_NAME: name },
  });
  if (status !== 0) {
    process.stdout.write(`${file}: no result\n`);
    process.exitCode = 1;
    continue;
  }
  report(file, JSON.parse(readFileSync(join('.mutation', `${name}.json`), 'utf8')));
}

for (const line of survivors) process.stdout.write(`${line}\n`);
process.stdout.write(`${folder}: ${describe(totals)}\n`);

function report(file, { files: results }) {
  const counts = { noticed: 0, survived: 0 };
  for (const { mutants, source } of Object.values(results)) {
    const lines = source.split('\n');
    for (const { status, location, mutatorName, replacement } of mutants) {
      if (status === 'Killed' || status === 'Timeout') counts.noticed++;
      if (status !== 'Survived' && status !== 'NoCoverage') continue;
      counts.survived++;
      const text = lines[location.start.line - 1].trim();
      const change = (replacement ?? mutatorName).replaceAll(/\s+/g, ' ').slice(0, 80);
      survivors.push(`${file}:${location.start.line} ${status}: ${text}  =>  ${change}`);
    }
  }
  totals.noticed += counts.noticed;
  totals.survived += counts.survived;
  process.stdout.write(`${file}: ${describe(counts)}\n`);
}

function describe({ noticed, survived }) {
  const all = noticed + survived;
  return `${all === 0 ? '-' : ((noticed * 100) / all).toFixed(1)} % of ${all} mutants noticed`;
}
