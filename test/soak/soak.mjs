/**
 * Runs a service for hours with everything at once: `npm run soak -- --hours 2`.
 *
 *   a simulated node with forks ─► sluice serve, which seals, merges, indexes and trims ─► followers, scans, lookups, clients that vanish
 *
 * Prints a table of samples and a plot of each measurement, writes them to FOLDER/soak.json and FOLDER/soak.svg, and fails if a response is
 * wrong, an alarm is left, or the memory of the last hour grows by more than 1 %. Shorter runs print the slope, but do not judge it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from '../../packages/server/bin/build.js';
import { readOptions } from '../read-options.mjs';
import { readMemoryParts } from './memory-parts.mjs';
import { describeSamples, drawSamples, slopeOf } from './report.mjs';

const usage = `usage: npm run soak -- [--hours N | --minutes N] [--out FOLDER] [--followers N] [--slot-ms N] [--keep N]

Runs a service with everything at once. Fails if a response is wrong, an alarm is left, or the memory of the last hour grows by more than 1 %.

  --hours N, --minutes N   how long (default: 5 minutes; the growth is judged from two hours on)
  --out FOLDER             writes the samples and their plots to FOLDER/soak.json and FOLDER/soak.svg
  --followers N            clients at the head (default 20)
  --slot-ms N              the time of a slot of the simulated ledger (default 100)
  --keep N                 how many blocks the service keeps (default 5000)
`;
const values = readOptions(usage, {
  hours: { type: 'string' },
  minutes: { type: 'string' },
  out: { type: 'string' },
  followers: { type: 'string', default: '20' },
  'slot-ms': { type: 'string', default: '100' },
  keep: { type: 'string', default: '5000' },
});
const durationMs = values.hours
  ? Number(values.hours) * 3_600_000
  : Number(values.minutes ?? 5) * 60_000;
const hourMs = 3_600_000;
const sampleEveryMs = Math.min(10_000, durationMs / 40);
/** A line of progress is written after this many samples: once a minute in a long run. */
const progressCount = 6;
const slopeMax = 0.01;
const program = join(
  dirname(fileURLToPath(import.meta.url)),
  '../../packages/server/bin/sluice.js',
);

await build();
const work = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
const faults = [];
let isOver = false;
let logBytes = 0;
const counts = { forks: 0, lines: 0, scans: 0, lookups: 0, vanished: 0, conflicts: 0, repeats: 0 };
const children = [];

/** Starts a command and returns the addresses that it prints. */
async function start(args) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  child.stderr.on('data', (bytes) => {
    logBytes += bytes.length;
  });
  child.once('exit', (code, signal) => {
    if (!isOver) faults.push(`${args[0]} ended: ${code ?? signal}`);
  });
  let text = '';
  for await (const line of createInterface(child.stdout)) {
    text += `${line}\n`;
    if (line.includes('Stop with Ctrl-C')) break;
  }
  child.stdout.resume();
  return { child, urls: text.match(/(?:http|ws):\/\/127\.0\.0\.1:\d+/g) };
}

const ports = ['--ws-port', '0', '--control-port', '0', '--grpc-port', '0'];
const rates = [
  '--slot-ms',
  values['slot-ms'],
  '--skip-rate',
  '0.02',
  '--fork-rate',
  '0.01',
  '--votes',
  'off',
];
const node = await start(['simulate', '--port', '0', ...ports, ...rates]);
const [rpcUrl, wsUrl, , controlUrl] = node.urls;
const serving = [
  '--rpc',
  rpcUrl,
  '--ws',
  wsUrl,
  '--dataset',
  'soak',
  '--from',
  'latest',
  '--keep',
  values.keep,
];
const service = await start([
  'serve',
  '--data',
  join(work, 'data'),
  '--port',
  '0',
  '--admin-port',
  '0',
  ...serving,
]);
const [url, adminUrl] = [...new Set(service.urls)];
const dataset = `${url}/datasets/soak`;

const fields = {
  block: { number: true, hash: true, parentHash: true },
  transaction: { signatures: true },
  instruction: { programId: true },
};

function post(path, body, signal) {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${dataset}/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal,
  });
}

/** Reads lines until the response ends, and checks that each block is a child of the one before it. */
async function readLines(response, isAll, onLine = () => undefined) {
  let before;
  for await (const line of createInterface(Readable.fromWeb(response.body))) {
    const { header } = JSON.parse(line);
    const isLinked = !isAll || before === undefined || header.parentHash === before.hash;
    if (!isLinked) faults.push(`slot ${header.number} is not linked to slot ${before.number}`);
    if (before !== undefined && header.number <= before.number)
      faults.push(`slot ${header.number} is repeated`);
    before = header;
    counts.lines++;
    onLine(JSON.parse(line));
  }
  return before;
}

/** Does something until the end. Errors of connections that were cut on purpose are expected. */
async function repeat(work) {
  while (!isOver) {
    try {
      await work();
    } catch (error) {
      if (!isOver && error?.name !== 'AbortError' && error?.name !== 'TimeoutError')
        faults.push(String(error?.stack ?? error));
    }
    await sleep(50);
  }
}

async function headOf() {
  for (;;) {
    const response = await fetch(`${dataset}/head`);
    const head = await response.json();
    if (!response.ok) counts.repeats++;
    else if (head !== null || isOver) return head;
    await sleep(200);
  }
}

/** Follows the head, resumes with the hash of its last block, and is killed at random. */
async function follow() {
  const { number, hash } = await headOf();
  let [fromBlock, parentBlockHash] = [number + 1, hash];
  for (let turn = 0; turn < 4 && !isOver; turn++) {
    const signal = AbortSignal.timeout(2_000 + Math.floor(Math.random() * 20_000));
    const response = await post(
      'stream',
      { fromBlock, parentBlockHash, fields, includeAllBlocks: true },
      signal,
    );
    if (response.status === 409) counts.conflicts++;
    if (response.status === 409) return;
    if (response.status === 204) continue;
    // On a busy machine the body of a request may arrive too late, or the service may be at a limit.
    if ([408, 503].includes(response.status)) {
      counts.repeats++;
      await response.text();
      continue;
    }
    if (response.status !== 200)
      throw new Error(`a follower got ${response.status}: ${await response.text()}`);
    const last = await readLines(response, true);
    if (last !== undefined) [fromBlock, parentBlockHash] = [last.number + 1, last.hash];
  }
}

let lastSignature;
async function scan() {
  const { start_block: fromBlock } = await (await fetch(`${dataset}/metadata`)).json();
  const { number: toBlock } = await headOf();
  const response = await post('stream', { fromBlock, toBlock, fields, transactions: [{}] });
  // Retention may have removed the first blocks meanwhile.
  if (response.status === 400 || response.status === 503) return void (await response.text());
  await readLines(response, false, ({ transactions = [] }) => {
    lastSignature = transactions[0]?.signatures[0] ?? lastSignature;
  });
  counts.scans++;
}

async function lookUp() {
  await sleep(200);
  if (lastSignature === undefined) return;
  const found = await fetch(`${dataset}/transactions/${lastSignature}`);
  await found.text();
  if (![200, 404, 503].includes(found.status)) throw new Error(`a lookup got ${found.status}`);
  await (await fetch(`${dataset}/activity?limit=5`)).text();
  counts.lookups++;
}

/** Requests all blocks, reads little and breaks the connection. */
async function vanish() {
  const { start_block: fromBlock } = await (await fetch(`${dataset}/metadata`)).json();
  const body = JSON.stringify({ fromBlock, fields, instructions: [{}] });
  const sent = request(`${dataset}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  sent.on('error', () => undefined);
  sent.end(body);
  const [response] = await once(sent, 'response');
  response.on('error', () => undefined);
  await Promise.race([once(response, 'data'), sleep(1_000)]);
  await sleep(Math.random() * 2_000);
  response.destroy();
  counts.vanished++;
}

async function fork() {
  await sleep(5_000 + Math.random() * 15_000);
  // The last fork is over. The node keeps at most 100 faults.
  await (await fetch(`${controlUrl}/faults`, { method: 'DELETE' })).text();
  const depth = 1 + Math.floor(Math.random() * 20);
  const response = await fetch(`${controlUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify({ kind: 'fork', depth }),
  });
  await response.text();
  if (response.ok) counts.forks++;
}

function bytesOf(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    // The service may have removed a file meanwhile.
    bytes += entry.isDirectory()
      ? bytesOf(path)
      : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  }
  return bytes;
}

const startMs = Date.now();
const samples = [];
async function sample() {
  const { pid } = service.child;
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const metric = (name) =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  const rss =
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const disk = bytesOf(join(work, 'data')) / 2 ** 20;
  const blocks = metric('sluice_dataset_blocks');
  const hot = metric('sluice_dataset_hot_blocks');
  const sealed = metric('sluice_dataset_sealed_bytes') / 2 ** 20;
  // Hot blocks are larger than sealed ones, because they are compressed alone, so this estimate of live data is rather low.
  const live = blocks > hot ? sealed * (blocks / (blocks - hot)) : disk;
  samples.push({
    ms: Date.now() - startMs,
    'memory MB': rss,
    ...readMemoryParts(pid),
    'answers MB': metric('sluice_answer_cache_bytes') / 2 ** 20,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    'disk MB': disk,
    'disk/live': live > 0 ? disk / live : 1,
    'stall ms': metric('sluice_loop_delay_seconds') * 1000,
    'log KB': logBytes / 1024,
    blocks,
  });
}

function describeProgress() {
  const { ms, ...values } = samples.at(-1);
  const texts = Object.entries(values).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  const leftMinutes = Math.max(0, durationMs - ms) / 60_000;
  return `minute ${(ms / 60_000).toFixed(1)}, ${leftMinutes.toFixed(0)} left: ${texts.join(', ')}`;
}

process.stderr.write(`soak: ${url}, data in ${work}\n`);
const running = [
  ...Array.from({ length: Number(values.followers) }, () => repeat(follow)),
  ...Array.from({ length: 2 }, () => repeat(scan)),
  ...Array.from({ length: 2 }, () => repeat(lookUp)),
  repeat(vanish),
  repeat(fork),
];
process.once('SIGINT', () => {
  isOver = true;
});
while (!isOver && Date.now() - startMs < durationMs && faults.length === 0) {
  await sleep(sampleEveryMs);
  await sample();
  if (samples.length % progressCount === 0) process.stderr.write(`${describeProgress()}\n`);
}
const { alarms = [] } = await (await fetch(`${dataset}/status`)).json();
for (const { code } of alarms) faults.push(`the alarm ${code} is active`);
isOver = true;
const stopped = once(service.child, 'exit');
service.child.kill('SIGTERM');
const [exitCode] = await stopped;
if (exitCode !== 0) faults.push(`the service ended with ${exitCode}`);
for (const child of children) child.kill('SIGKILL');
await Promise.race([Promise.allSettled(running), sleep(5_000)]);
rmSync(work, { recursive: true, force: true });

const slope = slopeOf(samples, 'memory MB', hourMs);
const isJudged = durationMs >= 2 * hourMs;
if (isJudged && slope > slopeMax)
  faults.push(`memory grew by ${(slope * 100).toFixed(2)} % in the last hour`);
process.stdout.write(describeSamples(samples));
process.stdout.write(
  `\n${Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')}\n`,
);
const note = isJudged ? '' : ' (a run of less than two hours is not judged)';
process.stdout.write(`slope of memory over the last hour: ${(slope * 100).toFixed(2)} %${note}\n`);
for (const name of Object.keys(readMemoryParts(process.pid) ?? {}))
  process.stdout.write(`  ${name}: ${(slopeOf(samples, name, hourMs) * 100).toFixed(2)} %\n`);
if (values.out !== undefined) {
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, 'soak.json'), `${JSON.stringify({ counts, slope, samples })}\n`);
  writeFileSync(join(values.out, 'soak.svg'), drawSamples(samples));
}
for (const fault of new Set(faults)) process.stdout.write(`fault: ${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);
