import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { addDetail, CodedError, isCodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { Command } from 'commander';
import type { BackupSummary, VerifiedBackup } from '../../cluster/backup-dataset.ts';
import type { Bucket } from '../../cluster/bucket.ts';
import type { CopyDependencies } from '../../cluster/copy-dataset.ts';
import { manifestName } from '../../dataset/manifest.ts';
import { MergeThread, type SegmentSequence } from '../../dataset/merge/merge-thread.ts';
import { datasetExists } from '../../dataset/stored/create-dataset.ts';
import { readStoredDataset } from '../../dataset/stored/stored-dataset.ts';
import type { ObjectStore } from '../../object-store/object-store.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { isAddress, openLocation } from '../open-location.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';

interface BackupOptions {
  readonly to: string;
  readonly data: string;
  readonly verify?: boolean;
  readonly replace?: boolean;
}

/** The names of the datasets of a backup. */
const contentsKey = 'backup.json';

/** The help of the commands that read or write backups. */
export const locationsHelp = `
A backup is in a folder or at s3://BUCKET/PREFIX. The credentials of an object store are found as for a service
(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a shared credentials file, or the role of the machine), its address and region in
AWS_ENDPOINT_URL and AWS_REGION.`;

const backupHelp = `
Examples:
  $ sluice backup --to /mnt/backup
  $ sluice backup mine --data /var/lib/sluice --to s3://backups/sluice --verify

A service may use the data folder at the same time. Only finalized blocks are copied; a service loads the others from its sources again.
Files that the backup has are not sent again, so a further backup is short, and an interrupted one continues when it is run again. A backup
whose newest block the dataset does not have is not replaced, because it may be that of another chain: if retention has removed the block,
or the earlier backup is no longer needed, give --replace.
${locationsHelp}`;

export function buildBackupCommand(context: CommandContext): Command {
  return new Command('backup')
    .description('Copy the datasets of a data folder to a folder or an object store.')
    .argument('[names...]', 'the datasets; all of the data folder if none is named')
    .requiredOption('--to <location>', 'a folder, or s3://BUCKET/PREFIX')
    .option('--data <folder>', 'the data folder', './data')
    .option('--verify', 'read the whole backup afterwards, verify it, and send damaged files again')
    .option('--replace', 'replace the backup also if it may be that of another chain')
    .addHelpText('after', backupHelp)
    .action((names: string[], options: BackupOptions) => backUp(names, options, context));
}

export async function backUp(
  wanted: readonly string[],
  { to, data, verify, replace }: BackupOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const there = await listDataFolder(data);
  for (const name of wanted)
    if (!there.includes(name))
      throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const names = wanted.length === 0 ? there : wanted;
  if (names.length === 0)
    throw new CodedError('dataset-missing', { dataset: '(any)', folder: data });
  await checkTarget(to, data);
  const location = await openLocation(to);
  const merger = new MergeThread(systemClock);
  const merge = (segments: SegmentSequence) => merger.merge(segments);
  try {
    await eachDataset(names, err, async (name) => {
      const bucket = await location.openBucket(name);
      const run = await prepareRun(`${data}/${name}`, bucket, { merge, replace, err });
      const { blocks, segments, last, leftBlocks } = await run.send();
      await addToContents(location.store, name);
      const left = leftBlocks === 0 ? '' : `; ${formatCount(leftBlocks)} blocks are not final yet`;
      out.write(
        `${name}: ${formatCount(blocks)} blocks up to slot ${last ?? '-'} in ${formatCount(segments)} segments${left}\n`,
      );
      if (verify === true) await verifyAndResend(run, { name, out });
    });
  } finally {
    await merger.close();
    await location.close();
  }
}

/** A dataset that cannot be backed up does not prevent the backup of the others. Throws the last failure and prints those before it. */
async function eachDataset(
  names: readonly string[],
  err: NodeJS.WritableStream,
  work: (name: string) => Promise<void>,
): Promise<void> {
  let failure: CodedError | undefined;
  for (const name of names) {
    try {
      await work(name);
    } catch (error) {
      if (!isCodedError(error) || isCodedError(error, 'copy-interrupted')) throw error;
      if (failure !== undefined) err.write(`sluice: ${failure.message} [${failure.code}]\n`);
      failure = addDetail(error, { dataset: name });
    }
  }
  if (failure !== undefined) throw failure;
}

interface BackupRun {
  send(): Promise<BackupSummary>;
  verify(): Promise<VerifiedBackup>;
}

interface RunOptions {
  readonly merge: CopyDependencies['merge'];
  readonly replace: boolean | undefined;
  readonly err: NodeJS.WritableStream;
}

async function prepareRun(
  folder: string,
  bucket: Bucket,
  { merge, replace = false, err }: RunOptions,
): Promise<BackupRun> {
  const { backupDataset, verifyBackup } = await import('../../cluster/backup-dataset.ts');
  const { countBlocks } = await import('../../cluster/count-blocks.ts');
  const { blockCount: total } = await readStoredDataset(folder, nodeFs);
  const signal = stopSignal();
  return {
    send: () =>
      withProgress({ total, err }, (onPart) =>
        backupDataset(folder, bucket, { fs: nodeFs, merge, onPart, signal, replace }),
      ),
    verify: async () => {
      const blocks = await countBlocks(bucket);
      return withProgress({ total: blocks, err }, (onPart) =>
        verifyBackup(bucket, { onPart, signal }),
      );
    },
  };
}

/** Verifies a backup, and sends damaged files again. */
async function verifyAndResend(
  run: BackupRun,
  { name, out }: { readonly name: string; readonly out: NodeJS.WritableStream },
): Promise<void> {
  let { segments, damages } = await run.verify();
  if (damages.length > 0) {
    for (const { file, remove } of damages) {
      out.write(`${name}: ${file} of the backup is damaged and is sent again\n`);
      await remove();
    }
    await run.send();
    ({ segments, damages } = await run.verify());
  }
  const [damage] = damages;
  if (damage !== undefined)
    throw new CodedError('backup-damaged', { file: `${name}/${damage.file}` });
  out.write(`${name}: ${formatCount(segments)} segments of the backup are intact\n`);
}

/** A backup in a data folder could be lost with it, and its files could be taken for those of a dataset. */
async function checkTarget(to: string, data: string): Promise<void> {
  if (to === '' || isAddress(to)) return;
  const [target, source] = await Promise.all([to, data].map((path) => realPathOf(resolve(path))));
  const isInSource = `${target}/`.startsWith(`${source}/`);
  if (isInSource || (await datasetExists(to, nodeFs)) || (await isDataFolder(to)))
    throw new CodedError('backup-target-used', { target: to });
}

async function isDataFolder(path: string): Promise<boolean> {
  for (const name of await namesIn(path))
    if ((await namesIn(join(path, name))).includes(manifestName)) return true;
  return false;
}

/** Returns the names in a folder, or none if it cannot be read. */
function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch((): string[] => []);
}

/** Returns the path without symbolic links, also if its end does not exist yet. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(await realPathOf(dirname(path)), basename(path));
}

export async function withProgress<Result>(
  { total, err }: { readonly total?: number; readonly err: NodeJS.WritableStream },
  work: (onPart: (blockCount: number, byteLength: number) => void) => Promise<Result>,
): Promise<Result> {
  const progress = new Progress(
    { unit: 'blocks', ...(total === undefined ? {} : { total }) },
    { err, clock: systemClock },
  );
  try {
    const result = await work((blockCount, byteLength) => progress.add(blockCount, byteLength));
    progress.finish();
    return result;
  } catch (error) {
    progress.stop();
    throw error;
  }
}

/** Returns the names of the datasets of a backup, or none if there is no backup. */
export async function readContents(store: ObjectStore): Promise<string[]> {
  let bytes: Uint8Array;
  try {
    bytes = await store.get(contentsKey);
  } catch (error) {
    if (isCodedError(error, 'store-object-missing')) return [];
    throw error;
  }
  const names = parseContents(Buffer.from(bytes).toString());
  if (names === undefined) throw new CodedError('backup-damaged', { file: contentsKey });
  return names;
}

/** A name becomes a folder of the data folder, so it must be the name of a dataset. */
function parseContents(text: string): string[] | undefined {
  try {
    const { datasets }: { readonly datasets: unknown } = JSON.parse(text);
    const isList = Array.isArray(datasets) && datasets.every((name) => isDatasetName(name));
    return isList ? datasets : undefined;
  } catch {
    return undefined;
  }
}

function isDatasetName(value: unknown): boolean {
  return typeof value === 'string' && datasetNamePattern.test(value);
}

async function addToContents(store: ObjectStore, name: string): Promise<void> {
  const datasets = [...new Set([...(await readContents(store)), name])].sort();
  await store.put(contentsKey, Buffer.from(`${JSON.stringify({ datasets })}\n`));
}
