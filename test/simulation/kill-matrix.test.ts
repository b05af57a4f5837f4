/**
 * Kills a process at the operations of a script, and again during each recovery.
 *
 *   npm run test:kills                           every operation, and every operation of each recovery
 *   KILL_POINTS=30 KILL_SEED=7 npx vitest run test/simulation/kill-matrix.test.ts
 */
import { Random } from '@sluice/base/random';
import { expect, test } from 'vitest';
import { emptySnapshot } from '../../packages/server/src/chain/chain-snapshot.ts';
import {
  checkMachine,
  copyMachine,
  findLeftovers,
  identify,
  type Machine,
  makePlan,
  newMachine,
  readState,
  ScriptRun,
} from './kill-matrix.ts';
import { startProcess } from './mortal-process.ts';

const { KILL_POINTS: pointsText = '30', KILL_SEED: seedText } = process.env;
const isComplete = pointsText === 'all';
const seed = Number(seedText ?? process.hrtime.bigint() % 1_000_000_007n);
const plan = makePlan();
const noKill = Number.POSITIVE_INFINITY;

interface CleanRun {
  readonly pointCount: number;
  readonly counts: ReadonlyMap<string, number>;
  /** What each state says, by version. */
  readonly states: ReadonlyMap<number, string>;
  readonly last: string;
}

async function runCleanly(): Promise<CleanRun> {
  const machine = newMachine();
  const states = new Map<number, string>();
  const note = () => {
    const snapshot = run.dataset?.snapshot();
    if (snapshot !== undefined) states.set(snapshot.version, identify(snapshot));
  };
  const started = startProcess(machine, noKill, note);
  const run = new ScriptRun(plan, started);
  await run.run();
  note();
  const last = identify(run.open.snapshot());
  await run.open.close();
  await checkMachine(run, machine);
  expect(await findLeftovers(machine)).toEqual([]);
  const pointCount = [...started.counts.values()].reduce((sum, count) => sum + count, 0);
  return { pointCount, counts: new Map(started.counts), states, last };
}

/** Runs the script until it is killed. Returns undefined if it ends before. */
async function runUntil(killAt: number, machine: Machine, before?: ScriptRun) {
  const started = startProcess(machine, killAt);
  const run = new ScriptRun(plan, started, before);
  const isKilled = await Promise.race([
    run.run().then(() => false),
    started.killed.then(() => true),
  ]);
  return { run, isKilled };
}

/** Ends what is left of a process: a kill keeps the page cache, a power loss tears what was not synchronized. */
function crash({ disk, store }: Machine, random: Random): void {
  store.before = () => undefined;
  if (random.chance(0.5)) disk.restart();
  else disk.powerLoss(() => random.unit());
}

/** Kills the script at one point, checks what it left, and continues it. Returns the number of kills during recoveries. */
async function tryPoint(killAt: number, clean: CleanRun): Promise<number> {
  const random = Random.fromSeed(seed).fork(killAt);
  const machine = newMachine();
  const { run, isKilled } = await runUntil(killAt, machine);
  expect(isKilled).toBe(true);
  const visible = run.dataset?.snapshot();
  const pending = run.dataset?.pendingSnapshot();
  crash(machine, random);
  const found = await readState(machine);
  if (visible !== undefined) {
    expect(found?.version).toBeGreaterThanOrEqual(visible.version);
    expect(found?.version).toBeLessThanOrEqual(pending?.version ?? 0);
  }
  if (found !== undefined && visible !== undefined)
    expect(identify(found)).toBe(clean.states.get(found.version));
  await checkMachine(run, machine);
  const recoveries = await killRecoveries(machine, run, random);
  await finish(machine, run, clean);
  return recoveries;
}

async function killRecoveries(machine: Machine, run: ScriptRun, random: Random): Promise<number> {
  // A recovery of a machine without a dataset creates an empty one.
  const expected = identify((await readState(machine)) ?? emptySnapshot);
  const first = isComplete ? 1 : 1 + random.below(3);
  for (let at = first, count = 0; ; at++, count++) {
    const copy = copyMachine(machine);
    const started = startProcess(copy, at);
    const again = new ScriptRun(plan, started, run);
    const isKilled = await Promise.race([
      again.boot().then(() => false),
      started.killed.then(() => true),
    ]);
    if (isKilled) {
      crash(copy, random);
      expect(identify((await readState(copy)) ?? emptySnapshot)).toBe(expected);
      await checkMachine(again, copy);
    }
    if (!isKilled || !isComplete) return isKilled ? count + 1 : count;
  }
}

async function finish(machine: Machine, before: ScriptRun, clean: CleanRun): Promise<void> {
  const { run } = await runUntil(noKill, machine, before);
  const last = run.open.snapshot();
  await run.open.close();
  await checkMachine(run, machine);
  expect(chainOf(identify(last))).toEqual(chainOf(clean.last));
  expect(await findLeftovers(machine)).toEqual([]);
}

/** The division into segments and indexes depends on when a process was restarted. */
function chainOf(identity: string) {
  const [start, anchor, head, finalized, , , replaced] = JSON.parse(identity);
  return { start, anchor, head, finalized, replaced };
}

test('behavior: I-70 I-71 I-73 F-40 a kill or a power loss at any write, sync, rename, removal or upload loses and doubles nothing', {
  timeout: 3_600_000,
}, async () => {
  const clean = await runCleanly();
  const all = Array.from({ length: clean.pointCount }, (_, i) => i + 1);
  const random = Random.fromSeed(seed);
  const points = isComplete
    ? all
    : Array.from({ length: Number(pointsText) }, () => random.pick(all));
  const kinds = [...clean.counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
  const command = `KILL_POINTS=${pointsText} KILL_SEED=${seed}`;
  process.stderr.write(`kill matrix: ${points.length} of ${all.length} points (${kinds})\n`);
  process.stderr.write(`kill matrix: ${command}\n`);
  let recoveryCount = 0;
  for (const point of points) {
    try {
      recoveryCount += await tryPoint(point, clean);
    } catch (error) {
      throw new Error(`killed at operation ${point}, ${command}`, { cause: error });
    }
  }
  process.stderr.write(`kill matrix: ${recoveryCount} kills during recoveries\n`);
  expect(all.length).toBeGreaterThanOrEqual(500);
  expect(recoveryCount).toBeGreaterThan(0);
});
