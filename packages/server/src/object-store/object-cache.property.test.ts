/** What a cache finds after its process was killed, or after a power loss, at any operation on the disk. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { collectGarbage } from '@sluice/base/memory/collect-garbage';
import { Random } from '@sluice/base/random';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { SimFs, SimKilled } from '../storage/testing/sim-fs.ts';
import { catalogueName, parseCatalogue } from './cache-catalogue.ts';
import { ObjectCache } from './object-cache.ts';
import { cacheFilePath, granuleBytes } from './presence.ts';
import { MemoryStore } from './testing/memory-store.ts';

const folder = 'cache';
const bytesMax = 6 * granuleBytes;
const byteLength = 5 * granuleBytes - 100;
const names = ['a', 'b', 'c', 'd'];
/** No byte is 0, and all objects differ in every byte, so that a hole or the content of another object is noticed. */
const contentOf = (name: string) =>
  new Uint8Array(byteLength).map((_, i) => 1 + ((i + (i >> 8) + 50 * names.indexOf(name)) % 250));

function newStore(): MemoryStore {
  const store = new MemoryStore();
  for (const name of names) store.objects.set(name, { bytes: contentOf(name), modifiedUnixMs: 0 });
  return store;
}

class Subject {
  readonly fs: SimFs;
  readonly store = newStore();
  readonly clock = new ManualClock();
  cache: ObjectCache | undefined;

  constructor(fs = new SimFs()) {
    this.fs = fs;
  }

  async open(): Promise<ObjectCache> {
    const { store, clock, fs } = this;
    this.cache ??= await ObjectCache.open(
      { folder, bytesMax, requestCountMax: 2 },
      { store, clock, fs },
    );
    return this.cache;
  }

  async read(name: string, start: number, length: number): Promise<void> {
    const bytes = await (await this.open()).use(name, name, byteLength).read(start, length);
    expect(Buffer.compare(bytes, contentOf(name).subarray(start, start + length))).toBe(0);
  }

  async close(): Promise<void> {
    const { cache } = this;
    this.cache = undefined;
    await cache?.close();
  }

  /** Ends the process, which may have been killed before, with or without a power loss. */
  async kill(random?: () => number): Promise<void> {
    this.fs.fault = () => 'kill';
    await this.close().catch(ignoreKill);
    if (random === undefined) this.fs.restart();
    else this.fs.powerLoss(random);
    this.checkDisk();
  }

  /** Checks that every listed range is in its file, unless the file is missing. */
  checkDisk(): void {
    const paths = this.fs.paths();
    if (!paths.includes(`${folder}/${catalogueName}`)) return;
    const { files } = parseCatalogue(Buffer.from(this.fs.readRaw(`${folder}/${catalogueName}`)));
    for (const { name, number, runs } of files.values()) {
      const path = cacheFilePath(folder, number);
      if (!paths.includes(path)) continue;
      const stored = this.fs.readRaw(path);
      for (const run of runs.split(',')) {
        const [start = 0, count = 0] = run.split('+').map((part) => Number(part) * granuleBytes);
        const expected = contentOf(name).subarray(start, start + count);
        expect(Buffer.compare(stored.subarray(start, start + count), expected)).toBe(0);
      }
    }
  }

  /** Checks that files, entries and the size agree when nothing is in progress. */
  async checkIdle(): Promise<void> {
    const cache = await this.open();
    await cache.removeOrphans(new AbortController().signal);
    await this.close();
    const { files } = parseCatalogue(Buffer.from(this.fs.readRaw(`${folder}/${catalogueName}`)));
    const listed = [...files.values()].map(({ number }) => cacheFilePath(folder, number));
    expect(this.fs.paths()).toEqual([...listed, `${folder}/${catalogueName}`].sort());
    expect([...files.keys()].sort()).toEqual([...cache.names()].sort());
    expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
    expect(this.fs.openFileCount).toBe(0);
  }
}

function ignoreKill(error: unknown): void {
  if (!(error instanceof SimKilled)) throw error;
}

/** Fetches, evicts and removes objects in two processes. */
async function work(subject: Subject): Promise<void> {
  await subject.read('a', 0, 10);
  await subject.read('b', 5_000, 9_000);
  await subject.close();
  await subject.read('b', 0, 10);
  await subject.read('a', 4_000, 4_000);
  await subject.read('c', 0, byteLength);
  (await subject.open()).remove('c');
  await subject.read('c', byteLength - 10, 10);
  await subject.read('d', 0, 100);
  await subject.close();
}

async function countOperations(fs: SimFs): Promise<number> {
  let count = 0;
  fs.fault = ({ index }) => {
    count = index + 1;
    return undefined;
  };
  const subject = new Subject(fs);
  await work(subject);
  await subject.checkIdle();
  return count;
}

/** A catalogue with so many obsolete lines that the next change replaces it. */
async function withObsoleteLines(): Promise<SimFs> {
  const subject = new Subject();
  await subject.read('a', 0, 10);
  await subject.close();
  const path = `${folder}/${catalogueName}`;
  const bytes = Buffer.from(subject.fs.readRaw(path));
  const copies = Array.from({ length: 600 }, () => bytes);
  subject.fs.writeRaw(path, Buffer.concat(copies));
  return subject.fs;
}

test.each([
  ['an empty folder', async () => new SimFs()],
  ['a catalogue with obsolete lines', withObsoleteLines],
])(
  'behavior: after a kill or a power loss at any operation, with %s, every listed range is in its file',
  async (_, newDisk) => {
    const disk = await newDisk();
    const operationCount = await countOperations(disk.copy());
    expect(operationCount).toBeGreaterThan(50);
    for (let index = 0; index < operationCount; index++) {
      for (const hasPower of [true, false]) {
        const subject = new Subject(disk.copy());
        subject.fs.fault = (operation) => (operation.index === index ? 'kill' : undefined);
        await work(subject).catch(ignoreKill);
        const random = Random.fromSeed(index);
        await subject.kill(hasPower ? undefined : () => random.unit());
        await work(subject);
        await subject.checkIdle();
      }
    }
  },
);

const name = fc.constantFrom(...names);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      reads: fc.array(
        fc.record({
          name,
          start: fc.nat(byteLength - 1),
          length: fc.integer({ min: 1, max: byteLength }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('evict' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fault' as const),
      /** The fault happens after this many further operations on the disk. */
      afterCount: fc.nat(12),
      fault: fc.constantFrom('kill' as const, 'EIO' as const, 'ENOSPC' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('kill' as const), seed: fc.option(fc.nat()) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function take(subject: Subject, taken: Step): Promise<void> {
  if (taken.kind === 'read') {
    const reads = taken.reads.map((read) => subject.read(read.name, read.start, read.length));
    for (const result of await Promise.allSettled(reads))
      if (result.status === 'rejected') throw result.reason;
  } else if (taken.kind === 'evict') {
    (await subject.open()).use(taken.name, taken.name, byteLength).evict();
  } else if (taken.kind === 'remove') {
    (await subject.open()).remove(taken.name);
  } else if (taken.kind === 'fault') {
    const { fs } = subject;
    const index = fs.operationCount + taken.afterCount;
    fs.fault = (operation) => (operation.index === index ? taken.fault : undefined);
  } else if (taken.kind === 'kill') {
    const random = Random.fromSeed(taken.seed ?? 0);
    await subject.kill(taken.seed === null ? undefined : () => random.unit());
  } else await subject.close();
}

const readA: Step = { kind: 'read', reads: [{ name: 'a', start: 0, length: 1 }] };
/** The synchronization that reserves the file numbers of a process fails, and a later power loss loses the reservation. */
const failedReservation: Step[] = [
  readA,
  { kind: 'close' },
  { kind: 'fault', afterCount: 8, fault: 'EIO' },
  readA,
  readA,
  { kind: 'close' },
  { kind: 'read', reads: [{ name: 'c', start: 0, length: 1 }] },
  { kind: 'kill', seed: 271_220_080 },
];

test('property: after any reads, evictions, faults of the disk, kills and power losses, every read returns the bytes of the store', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const subject = new Subject();
      for (const taken of steps) {
        try {
          await take(subject, taken);
        } catch (error) {
          if (isCodedError(error)) continue;
          ignoreKill(error);
          await subject.kill();
        }
      }
      await subject.kill();
      await work(subject);
      await subject.checkIdle();
    }),
    { examples: [[failedReservation]] },
  ));

test('limit: a start reads one file, however many objects are cached', async () => {
  const subject = new Subject();
  await subject.open();
  await subject.close();
  const path = `${folder}/${catalogueName}`;
  const empty = Buffer.from(subject.fs.readRaw(path));
  const lines = Array.from(
    { length: 20_000 },
    (_, i) => `+ ${i + 1} ${byteLength} 0+1 object-${i}`,
  );
  const body = Buffer.from(`${lines.join('\n')}\n`);
  const head = `${crc32(body).toString(16).padStart(8, '0')} ${body.length}\n`;
  const count = async () => {
    subject.fs.restart();
    const cache = await ObjectCache.open({ folder, bytesMax: 1e12, requestCountMax: 1 }, subject);
    const { operationCount } = subject.fs;
    expect(cache.use('object-7', 'a', byteLength).location).toBeDefined();
    await cache.close();
    return { operationCount, bytes: cache.bytes };
  };
  const before = await count();
  subject.fs.writeRaw(path, Buffer.concat([empty, Buffer.from(head), body]));
  const { operationCount, bytes } = await count();
  expect(bytes).toBe(20_000 * granuleBytes);
  expect(operationCount).toBe(before.operationCount);
  expect(operationCount).toBeLessThan(10);
});

test('behavior: ranges of an object that no reader uses any more are not fetched again, also while they are being saved', async () => {
  const subject = new Subject();
  await subject.read('a', 0, 10);
  await subject.read('b', 0, 10);
  const { length } = subject.store.calls;
  (await subject.open()).remove('b');
  // The removal saves the catalogue within a few turns.
  for (let turn = 0; turn < 12; turn++) {
    await nextTurn();
    collectGarbage();
    await subject.read('a', 0, 10);
  }
  expect(subject.store.calls).toHaveLength(length);
  await subject.close();
});
