import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { hash, makeRun, ref, slot } from '../chain/testing/chain-fixtures.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { ChainWriter, type ChainWriterDependencies, type NewChange } from './chain-writer.ts';

const below = { number: 9, hash: 'a9', height: 100 };
const create: NewChange = { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } };
const run = makeRun('a', [10, 11, 12, 13, 14], below);
const headerOf = (i: number) => (run[i] as HotBlock).header;

/** Returns a change that adds blocks of the run, each with this many bytes. */
function extend(first: number, last = first, length = 40): NewChange {
  const blocks = run.slice(first, last + 1).map(({ header }) => ({
    header,
    bytes: new Uint8Array(length).fill(header.number),
  }));
  return { kind: 'extend', blocks };
}

async function open(
  fs: SimFs,
  { groupBytesMax = 1_000, fileBytesMax = 1_000_000 } = {},
  dependencies: Partial<ChainWriterDependencies> = {},
) {
  return ChainWriter.open(
    { journal: { folder: 'journal', fileBytesMax }, groupBytesMax },
    {
      fs,
      isLockHeld: () => true,
      onVisible: () => undefined,
      leasedPayloads: () => new Set(),
      ...dependencies,
    },
  );
}

test.each([
  [79, [1, 1, 1, 1, 1]],
  [80, [2, 2, 1]],
  [119, [2, 2, 1]],
  [120, [3, 2]],
])(
  'limit: commits of 40 bytes share a record of up to %i bytes',
  async (groupBytesMax, expected) => {
    const groups: number[] = [];
    const visible: unknown[] = [];
    const writer = await open(
      new SimFs(),
      { groupBytesMax },
      {
        publish: async (commits) => void groups.push(commits.length),
        onVisible: ({ head }, payloads) =>
          visible.push([head?.number, payloads.map(({ bytes }) => bytes[0])]),
      },
    );
    await writer.commit([create]);
    groups.length = 0;
    visible.length = 0;
    const done = run.map((_, i) => writer.commit([extend(i)]));
    expect(writer.pending.head?.number).toBe(14);
    const states = await Promise.all(done);
    expect(groups).toEqual(expected);
    expect(states.map(({ head }) => head?.number)).toEqual([10, 11, 12, 13, 14]);
    // `onVisible` is called once for each record, with the payloads of all its commits.
    let at = 10;
    const told = expected.map((count) => {
      at += count;
      return [at - 1, Array.from({ length: count }, (_, i) => at - count + i)];
    });
    expect(visible).toEqual(told);
    await writer.close();
  },
);

test('limit: a single commit may be larger than the limit of a record', async () => {
  const writer = await open(new SimFs(), { groupBytesMax: 10 });
  await writer.commit([create, extend(0, 4)]);
  expect(writer.visible.head?.number).toBe(14);
});

test('error: dataset-write-failed: if commits cannot be published, nothing of them becomes visible', async () => {
  const cause = new TypeError('unreachable');
  let isFailing = false;
  const publish = async () => {
    if (isFailing) throw cause;
  };
  const writer = await open(new SimFs(), { groupBytesMax: 1 }, { publish });
  const before = await writer.commit([create]);
  isFailing = true;
  const results = await Promise.allSettled([
    writer.commit([extend(0)]),
    writer.commit([extend(1)]),
    writer.commit([extend(2)]),
  ]);
  for (const result of results) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { code: 'dataset-write-failed', cause },
    });
  }
  expect([writer.visible, writer.pending, writer.isFailed]).toEqual([before, before, true]);
  expect(() => writer.commit([extend(0)])).toThrow(
    expect.objectContaining({ code: 'dataset-write-failed' }),
  );
  isFailing = false;
  await writer.reopen();
  expect(writer.isFailed).toBe(false);
  await writer.commit([extend(0)]);
  expect(writer.visible.head?.number).toBe(10);
});

test('behavior: only new blocks are stored, and a known block keeps its bytes', async () => {
  const stored: number[][] = [];
  const writer = await open(
    new SimFs(),
    {},
    {
      publish: async (_commits, payloads) =>
        void stored.push(payloads.map(({ bytes }) => bytes[0] as number)),
    },
  );
  await writer.commit([create]);
  await writer.commit([extend(0, 2)]);
  const other = makeRun('b', [13], { number: 12, hash: 'a12', height: 103 });
  const blocks = [headerOf(1), headerOf(2), (other[0] as HotBlock).header].map((header) => ({
    header,
    bytes: new Uint8Array(40).fill(200),
  }));
  await writer.commit([{ kind: 'replace', ancestor: ref('a10'), blocks }]);
  expect(stored).toEqual([[], [10, 11, 12], [200]]);
  const bytes = await Promise.all(
    writer.visible.hot.map(({ payload }) => writer.readPayload(payload)),
  );
  expect(bytes.map((one) => one[0])).toEqual([10, 11, 12, 200]);
  expect(writer.visible.hot.map(({ payload }) => writer.payloadLength(payload))).toEqual([
    40, 40, 40, 40,
  ]);
});

test('behavior: after a restart new blocks get bytes of their own', async () => {
  const fs = new SimFs();
  const first = await open(fs);
  await first.commit([create, extend(0, 1)]);
  await first.close();
  const again = await open(fs);
  await again.commit([extend(2)]);
  const bytes = await Promise.all(
    again.visible.hot.map(({ payload }) => again.readPayload(payload)),
  );
  expect(bytes.map((one) => one[0])).toEqual([10, 11, 12]);
});

test('error: dataset-closed for a commit after `close`, which waits for the commits in progress', async () => {
  const writer = await open(new SimFs());
  const done = writer.commit([create, extend(0)]);
  await writer.close();
  expect((await done).head?.number).toBe(10);
  expect(() => writer.commit([extend(1)])).toThrow(
    expect.objectContaining({ code: 'dataset-closed' }),
  );
  writer.abandon(new CodedError('storage-missing'));
  expect(writer.isFailed).toBe(false);
});

test('behavior: a change that changes nothing waits for the commits before it', async () => {
  const writer = await open(new SimFs());
  await writer.commit([create]);
  const added = writer.commit([extend(0)]);
  const again = writer.commit([extend(0)]);
  expect((await again).head?.number).toBe(10);
  expect(await again).toBe(await added);
});

test('behavior: a commit that repeats a queued one fails if that one fails', async () => {
  const fs = new SimFs();
  const writer = await open(fs);
  await writer.commit([create]);
  fs.fault = ({ name }) => (name === 'write' ? 'EIO' : undefined);
  const twice = () => [writer.commit([extend(0)]), writer.commit([extend(0)])];
  const results = await Promise.allSettled(twice());
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fs.fault = () => undefined;
  await writer.reopen();
  const [added, again] = await Promise.all(twice());
  expect(again).toBe(added);
});

test('behavior: a writer that is closed while it is reopened stays closed, with no file open', async () => {
  const fs = new SimFs();
  const writer = await open(fs);
  await writer.commit([create]);
  writer.abandon(new CodedError('storage-missing'));
  const reopened = writer.reopen();
  await writer.close();
  await reopened;
  expect(() => writer.commit([extend(0)])).toThrow(
    expect.objectContaining({ code: 'dataset-closed' }),
  );
  expect(fs.openFileCount).toBe(0);
});

test('behavior: an abandoned writer rejects what is queued, and writes again after it is reopened', async () => {
  const fs = new SimFs();
  let release = () => {};
  let isHeld = false;
  const publish = () =>
    isHeld
      ? new Promise<void>((resolve) => {
          release = resolve;
        })
      : Promise.resolve();
  const writer = await open(fs, { groupBytesMax: 1 }, { publish });
  await writer.commit([create]);
  isHeld = true;
  const written = writer.commit([extend(0)]);
  const queued = writer.commit([extend(1)]);
  queued.catch(() => undefined);
  await nextTurn();
  const cause = new CodedError('storage-missing');
  writer.abandon(cause);
  await expect(queued).rejects.toMatchObject({ code: 'dataset-write-failed', cause });
  expect([writer.isFailed, writer.pending]).toEqual([true, writer.visible]);
  isHeld = false;
  release();
  await written;
  const operations = fs.operationCount;
  await writer.collect();
  expect(fs.operationCount).toBe(operations);
  await writer.reopen();
  await writer.commit([extend(1)]);
  expect(writer.visible.head?.number).toBe(11);
  writer.abandon(cause);
  expect(writer.isFailed).toBe(true);
});

test('behavior: a lock that is held is not acquired again', async () => {
  const reacquireLock = async () => expect.unreachable();
  const writer = await open(new SimFs(), {}, { reacquireLock });
  await writer.commit([create]);
  writer.abandon(new CodedError('storage-missing'));
  await writer.reopen();
  expect(writer.isFailed).toBe(false);
});

test('behavior: a writer that has not failed is not reopened', async () => {
  const fs = new SimFs();
  const writer = await open(fs);
  await writer.commit([create]);
  const operations = fs.operationCount;
  await writer.reopen();
  expect(fs.operationCount).toBe(operations);
});

test('error: dataset-write-failed: another process has written to the journal meanwhile', async () => {
  const fs = new SimFs();
  const writer = await open(fs);
  await writer.commit([create]);
  writer.abandon(new CodedError('storage-missing'));
  const other = await open(fs);
  await other.commit([extend(0)]);
  await other.close();
  await expect(writer.reopen()).rejects.toMatchObject({
    code: 'dataset-write-failed',
    detail: { visibleVersion: 1, durableVersion: 2 },
  });
  expect(writer.isFailed).toBe(true);
});

test('behavior: a full journal file is followed by another one, and files with leased payloads stay', async () => {
  const fs = new SimFs();
  const leased = new Set<number>();
  const writer = await open(fs, { fileBytesMax: 1 }, { leasedPayloads: () => leased });
  await writer.commit([create, extend(0, 4)]);
  for (const { payload } of writer.visible.hot) leased.add(payload);
  const first = fs.paths();
  await writer.commit([{ kind: 'finalize', block: ref('a14') }]);
  expect(fs.paths().length).toBeGreaterThan(first.length);
  await writer.close();
  const again = await open(fs, {});
  expect(again.visible.finalized).toEqual(ref('a14'));
  expect(again.visible.hot).toHaveLength(5);
});

test('behavior: a collection keeps the blocks of a commit that was in progress when it began', async () => {
  const writer = await open(new SimFs());
  await writer.commit([create]);
  const added = writer.commit([extend(0)]);
  await Promise.all([added, writer.collect()]);
  const { hot } = writer.visible;
  const bytes = await Promise.all(hot.map(({ payload }) => writer.readPayload(payload)));
  expect(bytes.map((one) => one[0])).toEqual([10]);
});
