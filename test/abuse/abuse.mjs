/**
 * Starts the service with its default limits and does to it what a malicious client can do: `npm run abuse`. Prints the time, the memory and
 * the outcome of each trial, and fails if one is not rejected properly or exceeds its bound. `--short` leaves out the slow trials and makes the
 * herds ten times smaller; `--out FILE` also writes the table to a file.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from '../../packages/server/bin/build.js';
import { readOptions } from '../read-options.mjs';
import { trials } from './trials.mjs';

const usage = `usage: npm run abuse -- [--short] [--only TEXT] [--out FILE]

Does to a service what a malicious client can do, and fails if a trial is not rejected properly or exceeds its bound.

  --short      leaves out the slow trials, and makes the herds ten times smaller
  --only TEXT  only the trials whose name contains the text
  --out FILE   also writes the table to a file
`;
const values = readOptions(usage, {
  short: { type: 'boolean', default: false },
  only: { type: 'string', default: '' },
  out: { type: 'string' },
});
const keyCount = 100_000;
const trialMsMax = 300_000;
const sampleEveryMs = 100;
const bin = join(dirname(fileURLToPath(import.meta.url)), '../../packages/server/bin');

await build();
const work = mkdtempSync(join(tmpdir(), 'sluice-abuse-'));
const keyOf = (number) => `key-${number}`;
const keys = Array.from({ length: keyCount }, (_, i) =>
  createHash('sha256').update(keyOf(i)).digest('hex'),
);
writeFileSync(join(work, 'keys.txt'), `${keys.join('\n')}\n`);

/** Starts the service and waits until it has blocks. */
async function start() {
  const ports = ['--port', '0', '--admin-port', '0', '--keys', join(work, 'keys.txt')];
  const args = [join(bin, 'sluice.js'), 'demo', '--data', join(work, 'data'), ...ports];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  for await (const line of createInterface(child.stdout)) {
    text += `${line}\n`;
    if (line.includes('Stop with Ctrl-C')) break;
  }
  child.stdout.resume();
  const urls = [...new Set(text.match(/http:\/\/127\.0\.0\.1:\d+/g))];
  let nextKey = 0;
  const auth = () => `x-api-key: ${keyOf(nextKey++ % keyCount)}\r\n`;
  return { child, port: Number(new URL(urls[0]).port), url: urls[0], auth };
}

/** The memory of the process in MiB. */
function memoryOf({ child }) {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function isWell({ child, url }) {
  if (child.exitCode !== null) return false;
  const response = await fetch(`${url}/datasets/ledger-beta/head`, {
    headers: { 'x-api-key': keyOf(0) },
    signal: AbortSignal.timeout(30_000),
  }).catch(() => undefined);
  return response?.status === 200;
}

async function runTrial(service, { run, mib, size = 0 }) {
  const before = memoryOf(service);
  let peak = before;
  const sampling = setInterval(() => {
    if (service.child.exitCode === null) peak = Math.max(peak, memoryOf(service));
  }, sampleEveryMs);
  const startMs = performance.now();
  const late = sleep(trialMsMax, undefined, { ref: false }).then(() => {
    throw new Error(`not over after ${trialMsMax / 1000} s`);
  });
  let outcome;
  let isGood = true;
  try {
    outcome = await Promise.race([run(service, values.short ? size / 10 : size), late]);
  } catch (error) {
    outcome = error.message;
    isGood = false;
  }
  const seconds = (performance.now() - startMs) / 1000;
  clearInterval(sampling);
  const grown = peak - before;
  if (grown > mib) outcome += `; memory grew by ${Math.round(grown)} MiB`;
  const isServed = await isWell(service);
  if (!isServed) outcome += '; the service does not respond afterwards';
  return { seconds, peak, grown, outcome, isGood: isGood && grown <= mib && isServed };
}

const service = await start();
while (!(await isWell(service))) await sleep(100);
const rows = ['| Trial | Seconds | Memory grew by | Allowed | Outcome |', '|---|---|---|---|---|'];
const print = (line) => process.stdout.write(`${line}\n`);
for (const row of rows) print(row);
let failedCount = 0;
for (const trial of trials) {
  if ((values.short && trial.isSlow) || !trial.name.includes(values.only)) continue;
  const { seconds, grown, outcome, isGood } = await runTrial(service, trial);
  const memory = `${Math.round(grown)} MiB | ${trial.mib} MiB`;
  const row = `| ${trial.name} | ${seconds.toFixed(1)} | ${memory} | ${isGood ? '' : 'FAILED: '}${outcome} |`;
  print(row);
  rows.push(row);
  if (!isGood) failedCount++;
}
if (values.out !== undefined) writeFileSync(values.out, `${rows.join('\n')}\n`);
const exited = new Promise((resolve) => service.child.once('exit', resolve));
service.child.kill('SIGTERM');
const code = service.child.exitCode ?? (await exited);
rmSync(work, { recursive: true });
if (code !== 0) print(`the service ended with ${code}`);
process.exit(failedCount === 0 && code === 0 ? 0 : 1);
