/**
 * Kills a process at chosen system calls. strace ends the process as it enters the Nth call of a kind, so the disk has exactly the effects
 * of the earlier calls. One folder is used for all runs, including recoveries that are killed.
 *
 *   KILL_POINTS=200 KILL_SEED=7 npm run test:kill     more points, in the order of that seed
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { workerUrl } from '@sluice/base/worker-url';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readStoredDataset } from '../dataset/stored/stored-dataset.ts';
import { verifyDataset } from '../dataset/stored/verify-dataset.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { readWholeFile } from '../storage/fs.ts';
import { nodeFs } from '../storage/node-fs.ts';

interface Point {
  readonly call: string;
  readonly count: number;
}

const script = fileURLToPath(new URL('./testing/follow-in-child.mjs', import.meta.url));
const dist = workerUrl(import.meta.url, '../').href;
const hasStrace = spawnSync('strace', ['-V']).status === 0;
if (!hasStrace) process.stderr.write('kill-at-calls is skipped, because strace is not installed\n');

/** The system calls on files, and the highest count that a run of a hundred blocks reaches. */
const calls: readonly (readonly [call: string, countMax: number])[] = [
  ['pwrite64', 90],
  ['fdatasync', 25],
  ['fsync', 9],
  ['rename', 8],
  ['unlink', 8],
  ['ftruncate', 1],
];
const few: readonly Point[] = [
  { call: 'fdatasync', count: 6 },
  { call: 'pwrite64', count: 20 },
  { call: 'rename', count: 2 },
  { call: 'fsync', count: 4 },
  { call: 'unlink', count: 1 },
];
const slotsPerRun = 100;
const slotMs = 400;
/** With these settings blocks are sealed and trimmed within a run. */
const settings = JSON.stringify({
  limits: { sealBlockCount: 16 },
  retention: { kind: 'blocks', count: 48 },
});

function choosePoints(): readonly Point[] {
  const count = Number(process.env['KILL_POINTS'] ?? 0);
  if (count === 0) return few;
  const random = Random.fromSeed(Number(process.env['KILL_SEED'] ?? 1));
  return Array.from({ length: count }, () => {
    const [call, countMax] = random.pick(calls);
    return { call, count: 1 + random.below(countMax) };
  });
}

/** strace ends the first thread that enters the call for the Nth time. With one file thread this is the Nth call of the process. */
function startTraced(folder: string, url: string, { call, count }: Point): ChildProcess {
  const inject = `inject=${call}:signal=KILL:when=${count}`;
  const strace = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`];
  const command = [process.execPath, script, dist, folder, url, settings];
  return spawn('strace', [...strace, '-e', inject, ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    detached: true,
  });
}

interface Run {
  readonly shown: readonly string[];
  readonly isKilledAtCall: boolean;
}

/** Follows until the call happens, or until the head of the ledger is reached. */
async function follow(folder: string, node: SimulatedNode, point: Point): Promise<Run> {
  const child = startTraced(folder, node.rpcUrl, point);
  const gone = new Promise((resolve) => child.once('close', resolve));
  const { branch, confirmedSlot } = node.state();
  const last = `${confirmedSlot} ${branch.blockAt(confirmedSlot)?.blockhash}`;
  const shown: string[] = [];
  let isWhole = false;
  for await (const line of createInterface(child.stdout as Readable)) {
    shown.push(line);
    if (line !== last) continue;
    isWhole = true;
    // Kills the process group, because a tracer that is killed alone releases the traced process.
    process.kill(-(child.pid as number), 'SIGKILL');
    break;
  }
  await gone;
  return { shown, isKilledAtCall: !isWhole };
}

/** Returns every stored block as `slot hash`, read from the files alone. */
async function readBlocks(folder: string): Promise<string[]> {
  const { snapshot } = await readStoredDataset(folder, nodeFs);
  const blocks: string[] = [];
  for (const { id } of snapshot.segments) {
    const bytes = await readWholeFile(nodeFs, `${folder}/segments/${id}`);
    for (const { number, hash } of openSegment(bytes).headers.toArray())
      blocks.push(`${number} ${hash}`);
  }
  for (const { header } of snapshot.hot) blocks.push(`${header.number} ${header.hash}`);
  return blocks;
}

function expectedBlocks({ ledger }: SimulatedNode, first: number, last: number): string[] {
  const blocks: string[] = [];
  for (let slot = first; slot <= last; slot++) {
    const block = ledger.chain.blockAt(slot);
    if (block !== undefined) blocks.push(`${slot} ${block.blockhash}`);
  }
  return blocks;
}

const slotOf = (line: string | undefined) => Number(line?.split(' ')[0] ?? -1);

let node: SimulatedNode;
const folder = mkdtempSync(join(tmpdir(), 'sluice-calls-'));
beforeAll(async () => {
  node = await startSimulatedNode(
    {
      paused: true,
      chain: { startSlot: slotsPerRun, skipRate: 0.1, forkRate: 0, slotMs },
      content: { transactionsPerBlock: 1, votes: 1, epochRewardsPerBlock: 1 },
    },
    { clock: systemClock },
  );
});
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!hasStrace)(
  'behavior: I-70 I-73 I-74 F-40 after kills at system calls no visible block is lost, duplicated or missed',
  { timeout: 3_600_000 },
  async () => {
    const points = choosePoints();
    let shownMax = -1;
    let killCount = 0;
    for (const point of points) {
      const { shown, isKilledAtCall } = await follow(folder, node, point);
      if (isKilledAtCall) killCount++;
      const at = JSON.stringify(point);
      const heads = shown.map(slotOf);
      // The first head of a process is not below the last one of its predecessor.
      if (heads.length > 0) expect(heads[0], at).toBeGreaterThanOrEqual(shownMax);
      shownMax = Math.max(shownMax, ...heads);
      const isThere = shownMax >= 0;
      if (isThere) {
        const own = `${folder}/ledger`;
        const damages = await verifyDataset({ folder: own }, nodeFs, new AbortController().signal);
        expect(damages, at).toEqual([]);
        const blocks = await readBlocks(own);
        const [first, last] = [slotOf(blocks[0]), slotOf(blocks.at(-1))];
        expect(last, at).toBeGreaterThanOrEqual(shownMax);
        expect(blocks, at).toEqual(expectedBlocks(node, first, last));
        for (const line of shown) if (slotOf(line) >= first) expect(blocks, at).toContain(line);
      }
      node.ledger.time.advance(slotsPerRun * slotMs);
    }
    process.stderr.write(`kill-at-calls: ${killCount} of ${points.length} points were reached\n`);
    expect(shownMax).toBeGreaterThan(0);
    expect(killCount).toBeGreaterThanOrEqual(Math.ceil(points.length / 2));
  },
);
