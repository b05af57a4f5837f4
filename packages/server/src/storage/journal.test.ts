import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import type { Fs } from './fs.ts';
import { Journal, type JournalContent } from './journal.ts';
import { nodeFs } from './node-fs.ts';
import { type SimFault, SimFs, SimKilled } from './testing/sim-fs.ts';

/** The state in these tests: the committed numbers, each with its own payload. */
type State = number[];
const folder = 'data/journal';
const options = { folder, fileBytesMax: 4_000 };

function payloadOf(n: number): Uint8Array {
  return new Uint8Array(200 + (n % 5) * 300).fill(n % 251);
}

function stateOf({ checkpoint, commits }: JournalContent): State {
  return [...((checkpoint ?? []) as State), ...(commits as State[]).flat()];
}

async function open(fs: Fs): Promise<{ journal: Journal; state: State }> {
  const { journal, content } = await Journal.open(options, { fs });
  const state = stateOf(content);
  if (content.checkpoint === null) await journal.rotate('[]', new Set(), new Set());
  return { journal, state };
}

/**
 * Commits numbers in groups of one to three and rotates full files. Calls `onDurable` before and after each commit with
 * the states that a crash may leave.
 */
async function run(fs: Fs, count: number, onDurable: (state: State, next: State) => void) {
  const { journal, state } = await open(fs);
  onDurable([...state], [...state]);
  for (let i = 0; i < count; i++) {
    const first = state.length + 1;
    const group = Array.from({ length: 1 + (i % 3) }, (_, k) => first + k);
    onDurable([...state], [...state, ...group]);
    const payloads = group.map((id) => ({ id, bytes: payloadOf(id) }));
    await journal.append(JSON.stringify(group), payloads);
    state.push(...group);
    onDurable([...state], [...state]);
    // The oldest half is no longer needed, as if it had been sealed.
    const live = new Set(state.slice(state.length >> 1));
    if (journal.isFull) await journal.rotate(JSON.stringify(state), live, new Set());
  }
  return { journal, state };
}

async function expectState(fs: Fs, allowed: State[]): Promise<State> {
  const { journal, state } = await open(fs);
  expect(allowed.map((one) => one.length)).toContain(state.length);
  expect(state).toEqual(Array.from({ length: state.length }, (_, i) => i + 1));
  for (const id of state.slice((state.length >> 1) + 1)) {
    expect(Buffer.compare(await journal.read(id), payloadOf(id))).toBe(0);
  }
  const next = state.length + 1;
  await journal.append(`[${next}]`, [{ id: next, bytes: payloadOf(next) }]);
  expect(await journal.read(next)).toEqual(payloadOf(next));
  await journal.close();
  return state;
}

/** A small seeded generator, so that the seed of a failure reproduces it. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function runUntilFault(fs: SimFs, at: number, fault: SimFault) {
  let allowed: State[] = [[]];
  fs.fault = ({ index }) => (index === at ? fault : undefined);
  try {
    const { journal } = await run(fs, 12, (state, next) => {
      allowed = [state, next];
    });
    await journal.close();
    return { finished: true, allowed };
  } catch (error) {
    if (!(error instanceof SimKilled) && !isCodedError(error)) throw error;
    return { finished: false, allowed };
  }
}

test('default: appended commits survive a restart on a real disk', async () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-journal-'));
  const real = { ...options, folder: join(root, 'journal') };
  try {
    const first = await Journal.open(real, { fs: nodeFs });
    await first.journal.rotate('[]', new Set(), new Set());
    await first.journal.append('[1]', [{ id: 1, bytes: payloadOf(1) }]);
    await first.journal.append('[2]', [{ id: 2, bytes: payloadOf(2) }]);
    await first.journal.rotate('[1,2]', new Set([2]), new Set());
    await first.journal.append('[3]', []);
    await first.journal.close();
    const second = await Journal.open(real, { fs: nodeFs });
    expect(stateOf(second.content)).toEqual([1, 2, 3]);
    expect(await second.journal.read(2)).toEqual(payloadOf(2));
    expect(second.journal.payloadIdMax).toBe(2);
    await second.journal.close();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('behavior: I-70 a kill at any operation leaves exactly the last committed state', async () => {
  let finished = false;
  for (let run = 0; !finished; run++) {
    const at = run >> 1;
    const fs = new SimFs();
    const outcome = await runUntilFault(fs, at, 'kill');
    fs.restart();
    const { journal, state } = await open(fs);
    expect(outcome.allowed).toContainEqual(state);
    // The state seen after the restart, and a commit made now, must be durable, although the state was only in the page
    // cache.
    if (run % 2 === 1) {
      state.push(state.length + 1);
      const id = state.length;
      await journal.append(`[${id}]`, [{ id, bytes: payloadOf(id) }]);
    }
    await journal.close();
    fs.powerLoss(randomFrom(run));
    await expectState(fs, [state]);
    finished = outcome.finished;
  }
});

test('behavior: I-71 a power loss at any operation, with torn unsynced bytes, leaves the last committed state', async () => {
  for (let at = 0; ; at++) {
    let finished = false;
    for (const seed of [1, 2]) {
      const fs = new SimFs();
      const outcome = await runUntilFault(fs, at, 'kill');
      fs.powerLoss(randomFrom(at * 100 + seed));
      const state = await expectState(fs, outcome.allowed);
      // The state seen after the first power loss is durable: a second one loses nothing of it.
      fs.powerLoss(randomFrom(at * 100 + seed + 50));
      await expectState(fs, [[...state, 0]]);
      finished = outcome.finished;
    }
    if (finished) break;
  }
});

test('behavior: I-73 a recovery that is killed repeatedly still converges', async () => {
  const fs = new SimFs();
  const { allowed } = await runUntilFault(fs, 60, 'kill');
  fs.powerLoss(randomFrom(7));
  for (let at = 0; at < 12; at++) {
    fs.fault = ({ index }) => (index === at ? 'kill' : undefined);
    await Journal.open(options, { fs }).catch(() => undefined);
    fs.powerLoss(randomFrom(at));
  }
  await expectState(fs, allowed);
});

test('error: I-77 after a failed write or sync the journal rejects writes, and the unacknowledged record is truncated', async () => {
  for (const fault of ['EIO', 'ENOSPC'] as const) {
    for (const operation of ['write', 'sync']) {
      const fs = new SimFs();
      const { journal } = await run(fs, 3, () => undefined);
      fs.fault = ({ name }) => (name === operation ? fault : undefined);
      await expect(journal.append('[99]', [])).rejects.toThrow();
      await expect(journal.append('[7]', [])).rejects.toThrow('one write at a time');
      fs.fault = () => undefined;
      await journal.truncateToLastCommit();
      expect(await journal.read(4)).toEqual(payloadOf(4));
      await journal.close();
      await expectState(fs, [[1, 2, 3, 4, 5, 6]]);
      fs.powerLoss(randomFrom(3));
      await expectState(fs, [[1, 2, 3, 4, 5, 6, 7]]);
    }
  }
});

test('behavior: I-71 a commit whose sync failed just before a kill is durable once a start has read it', async () => {
  const fs = new SimFs();
  const { journal } = await run(fs, 3, () => undefined);
  fs.fault = ({ name }) => (name === 'sync' ? 'EIO' : undefined);
  await expect(journal.append('[7]', [{ id: 7, bytes: payloadOf(7) }])).rejects.toThrow();
  // The process is killed before it truncates the file. The page cache has the commit, and the kernel no longer tries to write it.
  fs.restart();
  const reopened = await open(fs);
  expect(reopened.state).toContain(7);
  await reopened.journal.close();
  fs.powerLoss(() => 0.9);
  await expectState(fs, [reopened.state]);
});

async function committed(): Promise<{
  fs: SimFs;
  path: string;
  bytes: Uint8Array;
  ends: number[];
}> {
  const fs = new SimFs();
  const { journal } = await open(fs);
  const path = fs.paths()[0] as string;
  const ends = [fs.readRaw(path).byteLength];
  for (const n of [1, 2, 3]) {
    await journal.append(`[${n}]`, [{ id: n, bytes: payloadOf(n).subarray(0, 90) }]);
    ends.push(fs.readRaw(path).byteLength);
  }
  await journal.close();
  return { fs, path, bytes: fs.readRaw(path), ends };
}

test('behavior: F-21 a file truncated at any byte keeps its complete commits and accepts the next one', async () => {
  const { fs, path, bytes, ends } = await committed();
  for (let length = ends[0] as number; length <= bytes.byteLength; length++) {
    const cut = fs.copy();
    cut.writeRaw(path, bytes.subarray(0, length));
    const expected = ends.filter((end) => end <= length).length - 1;
    const { journal, state } = await open(cut);
    expect(state).toEqual([1, 2, 3].slice(0, expected));
    expect(cut.readRaw(path)).toHaveLength(ends[expected] as number);
    await journal.append('[50]', []);
    await journal.close();
    const again = await open(cut);
    expect(again.state).toEqual([...state, 50]);
  }
});

test('error: journal-damaged: a file truncated inside its checkpoint is rejected and left unchanged', async () => {
  const { fs, path, bytes, ends } = await committed();
  for (let length = 0; length < (ends[0] as number); length++) {
    const cut = fs.copy();
    cut.writeRaw(path, bytes.subarray(0, length));
    await expect(open(cut)).rejects.toMatchObject({ code: 'journal-damaged' });
    expect(cut.readRaw(path)).toHaveLength(length);
  }
});

test('behavior: F-22 a flipped bit is rejected, or treated as a torn write in the last record; its data is never returned', async () => {
  const { fs, path, bytes, ends } = await committed();
  const lastStart = ends.at(-2) as number;
  for (let at = 0; at < bytes.byteLength; at++) {
    const flipped = bytes.slice();
    flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
    const disk = fs.copy();
    disk.writeRaw(path, flipped);
    const outcome = await open(disk).catch((error: unknown) => error);
    if (at < lastStart) expect(outcome).toMatchObject({ code: 'journal-damaged' });
    else expect(outcome).toMatchObject({ state: [1, 2] });
  }
});

test('error: payload-damaged: bytes that change on disk while the journal is open are not returned', async () => {
  const fs = new SimFs();
  const { journal } = await open(fs);
  await journal.append('[1]', [{ id: 1, bytes: payloadOf(1) }]);
  const path = fs.paths()[0] as string;
  const bytes = fs.readRaw(path);
  bytes[bytes.byteLength - 5] = 99;
  fs.writeRaw(path, bytes);
  await expect(journal.read(1)).rejects.toMatchObject({ code: 'payload-damaged' });
});

test('behavior: a file is removed when nothing in it is needed, and kept while a reader leases a payload of it', async () => {
  const fs = new SimFs();
  const { journal } = await open(fs);
  await journal.append('[1]', [{ id: 1, bytes: payloadOf(1) }]);
  await journal.rotate('[1]', new Set(), new Set([1]));
  expect(fs.paths()).toHaveLength(2);
  expect(await journal.read(1)).toEqual(payloadOf(1));
  await journal.collect(new Set(), new Set());
  expect(fs.paths()).toEqual([`${folder}/0000000002.journal`]);
});
