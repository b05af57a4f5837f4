import { systemClock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { Command } from 'commander';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import { MergeThread } from '../../dataset/merge/merge-thread.ts';
import { readStoredDataset } from '../../dataset/stored/stored-dataset.ts';
import type { ObjectStore } from '../../object-store/object-store.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { openLocation } from '../open-location.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';

interface BackupOptions {
  readonly to: string;
  readonly data: string;
  readonly verify?: boolean;
}

interface RestoreOptions {
  readonly from: string;
  readonly data: string;
}

/** The names of the datasets of a backup. */
const contentsKey = 'backup.json';

const locations = `
A backup is in a folder or at s3://BUCKET/PREFIX. The credentials of an object store are found as for a service
(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a shared credentials file, or the role of the machine), its address and region in
AWS_ENDPOINT_URL and AWS_REGION.`;

const backupHelp = `
Examples:
  $ sluice backup --to /mnt/backup
  $ sluice backup mine --data /var/lib/sluice --to s3://backups/sluice --verify

A service may use the data folder at the same time. Only finalized blocks are copied; a service loads the others from its sources again.
Files that the backup has are not sent again, so a further backup is short, and an interrupted one continues when it is run again.
${locations}`;

const restoreHelp = `
Examples:
  $ sluice restore --from /mnt/backup --data /var/lib/sluice
  $ sluice restore mine --from s3://backups/sluice --data ./rehearsal

Every segment is verified. An interrupted restore continues when it is run again. The command fails if the data folder has the dataset
already, or while a service uses it.
${locations}`;

export function buildBackupCommand(context: CommandContext): Command {
  return new Command('backup')
    .description('Copy the datasets of a data folder to a folder or an object store.')
    .argument('[names...]', 'the datasets; all of the data folder if none is named')
    .requiredOption('--to <location>', 'a folder, or s3://BUCKET/PREFIX')
    .option('--data <folder>', 'the data folder', './data')
    .option('--verify', 'read the whole backup afterwards and verify it')
    .addHelpText('after', backupHelp)
    .action((names: string[], options: BackupOptions) => backUp(names, options, context));
}

export function buildRestoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .description('Copy datasets of a backup to a data folder.')
    .argument('[names...]', 'the datasets; all of the backup if none is named')
    .requiredOption('--from <location>', 'a folder, or s3://BUCKET/PREFIX')
    .option('--data <folder>', 'the data folder', './data')
    .addHelpText('after', restoreHelp)
    .action((names: string[], options: RestoreOptions) => restore(names, options, context));
}

export async function backUp(
  wanted: readonly string[],
  { to, data, verify }: BackupOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const there = await listDataFolder(data);
  for (const name of wanted)
    if (!there.includes(name))
      throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const names = wanted.length === 0 ? there : wanted;
  if (names.length === 0)
    throw new CodedError('dataset-missing', { dataset: '(any)', folder: data });
  const { backupDataset, verifyBackup } = await import('../../cluster/backup-dataset.ts');
  const location = await openLocation(to);
  const merger = new MergeThread(systemClock);
  const signal = stopSignal();
  try {
    for (const name of names) {
      const folder = `${data}/${name}`;
      const bucket = await location.openBucket(name);
      const { blockCount: total } = await readStoredDataset(folder, nodeFs);
      const summary = await withProgress({ total, err }, (onPart) =>
        backupDataset(folder, bucket, {
          fs: nodeFs,
          merge: (segments) => merger.merge(segments),
          onPart,
          signal,
        }),
      );
      await addToContents(location.store, name);
      const { blocks, segments, last, leftBlocks } = summary;
      const left = leftBlocks === 0 ? '' : `; ${formatCount(leftBlocks)} blocks are not final yet`;
      out.write(
        `${name}: ${formatCount(blocks)} blocks up to slot ${last ?? '-'} in ${formatCount(segments)} segments${left}\n`,
      );
      if (verify !== true) continue;
      const count = await withProgress({ total: blocks, err }, (onPart) =>
        verifyBackup(bucket, { onPart, signal }),
      );
      out.write(`${name}: ${formatCount(count)} segments of the backup are intact\n`);
    }
  } finally {
    await merger.close();
    await location.close();
  }
}

async function restore(
  wanted: readonly string[],
  { from, data }: RestoreOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const { pullDataset } = await import('../../cluster/pull-dataset.ts');
  const location = await openLocation(from);
  const lock = await lockDataFolder(data).catch(async (error: unknown) => {
    await location.close();
    throw error;
  });
  try {
    const there = await readContents(location.store);
    if (there.length === 0) throw new CodedError('backup-missing', { from });
    for (const dataset of wanted)
      if (!there.includes(dataset)) throw new CodedError('backup-missing', { from, dataset });
    for (const name of wanted.length === 0 ? there : wanted) {
      const bucket = await location.openBucket(name);
      const folder = `${data}/${name}`;
      const { segments } = await withProgress({ err }, (onPart) =>
        pullDataset(folder, bucket, { fs: nodeFs, onPart, signal: stopSignal() }),
      );
      out.write(`${name}: ${formatCount(segments)} segments restored to ${folder}\n`);
    }
  } finally {
    await location.close();
    await lock.release();
  }
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
