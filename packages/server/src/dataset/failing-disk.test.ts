/** Tests a dataset on a real file system that is full, read-only or fails. It is an image that is mounted, which needs root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterEach, expect, test } from 'vitest';
import { makeRun, ref } from '../chain/testing/chain-fixtures.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { decodeBlocks } from '../segment/testing/decode-blocks.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { Dataset } from './dataset.ts';
import { createDataset } from './stored/create-dataset.ts';
import { decodeHotBlock } from './testing/decode-hot-block.ts';
import { mergeInProcess } from './testing/merge-in-process.ts';

class MountedImage {
  readonly #work = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  readonly folder = join(this.#work, 'mounted');

  /** Throws if this process may not mount. */
  mountNew(): void {
    mkdirSync(this.folder);
    execute('truncate', '--size=32M', this.#image);
    execute('mkfs.ext4', '-q', '-F', '-m', '0', this.#image);
    this.mount();
  }

  mount(): void {
    execute('mount', '-o', 'loop,errors=remount-ro', this.#image, this.folder);
  }

  unmount(): void {
    execute('umount', this.folder);
  }

  /** Does what the kernel does after an error: all writes fail from now on. */
  makeReadOnly(): void {
    execute('mount', '-o', 'remount,abort', this.folder);
  }

  /** All operations fail with EIO from now on, as on a device that was removed. */
  shutDown(): void {
    // FS_IOC_SHUTDOWN without writing anything, for which Node has no function.
    const program =
      'my $flags = pack("I", 2); open(F, "<", $ARGV[0]) or die; ioctl(F, 0x8004587d, $flags) or die';
    execute('perl', '-e', program, this.folder);
  }

  fill(): void {
    const { bavail, bsize } = statfsSync(this.folder);
    const filler = join(this.folder, 'filler');
    expect(() => writeFileSync(filler, new Uint8Array(bavail * bsize + 1))).toThrow('ENOSPC');
  }

  makeSpace(): void {
    rmSync(join(this.folder, 'filler'));
  }

  remove(): void {
    rmSync(this.#work, { recursive: true });
  }

  get #image(): string {
    return join(this.#work, 'image');
  }
}

function execute(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: 'pipe' });
}

function canMount(): boolean {
  const image = new MountedImage();
  try {
    image.mountNew();
    image.shutDown();
    image.unmount();
    return true;
  } catch {
    return false;
  } finally {
    image.remove();
  }
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const chain = makeRun(
  'a',
  Array.from({ length: 30 }, (_, i) => i + 1),
  { ...ref('a0'), height: 0 },
);
const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
/** The blocks of the first slots. */
const blocksTo = (slot: number) =>
  chain.slice(0, slot).map(({ header }) => ({ header, ...rows, rewards: [] }));

async function open(folder: string): Promise<Dataset> {
  const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => true };
  const limits = { sealBlockCount: 4, diskFloorBytes: 0 };
  const dataset = await Dataset.open(
    { folder, realTime: true, limits },
    { ...dependencies, merge: mergeInProcess },
  );
  closers.push(() => dataset.close());
  return dataset;
}

/** Returns a dataset on a mounted image with blocks up to slot 20, of which those up to 16 are sealed. */
async function start(): Promise<{ image: MountedImage; folder: string; dataset: Dataset }> {
  const image = new MountedImage();
  closers.push(() => image.remove());
  image.mountNew();
  closers.push(() => image.unmount());
  const folder = join(image.folder, 'ledger');
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  const manifest = { name: 'ledger', aliases: [], votes: 'drop' as const, ...rest };
  await createDataset(folder, manifest, { fs: nodeFs });
  const dataset = await open(folder);
  await dataset.commit([{ kind: 'create', anchor: ref('a0') }]);
  await extend(dataset, 20);
  await dataset.commit([{ kind: 'finalize', block: ref('a16') }]);
  while (await dataset.seal());
  expect(dataset.snapshot().hot).toHaveLength(4);
  return { image, folder, dataset };
}

async function extend(dataset: Dataset, last: number): Promise<void> {
  const head = dataset.snapshot().head?.number ?? 0;
  const added = blocksTo(last).slice(head);
  const blocks = added.map((block) => ({ header: block.header, bytes: buildSegment([block]) }));
  await dataset.commit([{ kind: 'extend', blocks }]);
}

async function readSealed(dataset: Dataset) {
  const { segments } = dataset.snapshot();
  const bytes = await Promise.all(segments.map((segment) => dataset.readSegment(segment)));
  return bytes.flatMap((one) => decodeBlocks(openSegment(one)));
}

async function readAll(dataset: Dataset) {
  const hot = dataset.snapshot().hot.map((block) => decodeHotBlock(dataset, block));
  return [...(await readSealed(dataset)), ...(await Promise.all(hot))];
}

const testMounted = test.skipIf(!canMount());

testMounted(
  'behavior: F-20 on a real full disk writing stops and reading continues, and writing resumes when there is space (skipped if mounting is not allowed)',
  async () => {
    const { image, dataset } = await start();
    image.fill();
    // One block may fit into the last page of the journal, but not ten.
    await expect(extend(dataset, 30)).rejects.toMatchObject({ code: 'dataset-write-failed' });
    expect(dataset.alarms.has('dataset-write-failed')).toBe(true);
    expect(await readAll(dataset)).toEqual(blocksTo(20));
    image.makeSpace();
    await dataset.reopen();
    await extend(dataset, 22);
    expect(await readAll(dataset)).toEqual(blocksTo(22));
    expect(dataset.alarms.list()).toEqual([]);
  },
);

testMounted(
  'behavior: F-24 on a real file system that becomes read-only writing stops and reading continues, and a mount brings back everything (skipped if mounting is not allowed)',
  async () => {
    const { image, folder, dataset } = await start();
    image.makeReadOnly();
    await expect(extend(dataset, 21)).rejects.toMatchObject({ code: 'dataset-write-failed' });
    await expect(dataset.reopen()).rejects.toMatchObject({ code: 'storage-failed' });
    expect(dataset.alarms.has('dataset-write-failed')).toBe(true);
    expect(await readAll(dataset)).toEqual(blocksTo(20));
    await dataset.close();
    image.unmount();
    image.mount();
    const again = await open(folder);
    await extend(again, 22);
    expect(await readAll(again)).toEqual(blocksTo(22));
  },
);

testMounted(
  'behavior: F-24 on a real device that fails with EIO a read is an error and never other bytes, and a mount brings back everything (skipped if mounting is not allowed)',
  async () => {
    const { image, folder, dataset } = await start();
    image.shutDown();
    await expect(readSealed(dataset)).rejects.toMatchObject({ code: 'storage-failed' });
    await expect(extend(dataset, 21)).rejects.toMatchObject({ code: 'dataset-write-failed' });
    await expect(dataset.reopen()).rejects.toMatchObject({ code: 'storage-failed' });
    await dataset.close();
    image.unmount();
    image.mount();
    const again = await open(folder);
    expect(await readAll(again)).toEqual(blocksTo(20));
    await extend(again, 22);
  },
);
