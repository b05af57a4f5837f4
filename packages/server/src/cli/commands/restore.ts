import { CodedError, isCodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import type { Bucket } from '../../cluster/bucket.ts';
import { datasetExists } from '../../dataset/stored/create-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { openLocation } from '../open-location.ts';
import { stopSignal } from '../stop-signal.ts';
import { locationsHelp, readContents, withProgress } from './backup.ts';

interface RestoreOptions {
  readonly from: string;
  readonly data: string;
}

const restoreHelp = `
Examples:
  $ sluice restore --from /mnt/backup --data /var/lib/sluice
  $ sluice restore mine --from s3://backups/sluice --data ./rehearsal

Every segment and index is verified. An interrupted restore continues when it is run again. A dataset that the data folder has already is
not changed: it is left out, or an error if it is named. The command fails while a service uses the data folder.
${locationsHelp}`;

export function buildRestoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .description('Copy datasets of a backup to a data folder.')
    .argument('[names...]', 'the datasets; all of the backup if none is named')
    .requiredOption('--from <location>', 'a folder, or s3://BUCKET/PREFIX')
    .option('--data <folder>', 'the data folder', './data')
    .addHelpText('after', restoreHelp)
    .action((names: string[], options: RestoreOptions) => restore(names, options, context));
}

async function restore(
  wanted: readonly string[],
  { from, data }: RestoreOptions,
  { out, err }: CommandContext,
): Promise<void> {
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
    const names = wanted.length === 0 ? await withoutRestored(there, data, out) : wanted;
    for (const name of names) {
      const folder = `${data}/${name}`;
      const segments = await restoreOne(folder, await location.openBucket(name), err);
      out.write(`${name}: ${formatCount(segments)} segments restored to ${folder}\n`);
    }
  } finally {
    await location.close();
    await lock.release();
  }
}

/** Returns the datasets that the data folder does not have. An interrupted restore continues with them. Throws if it has all of them. */
async function withoutRestored(
  names: readonly string[],
  data: string,
  out: NodeJS.WritableStream,
): Promise<string[]> {
  const existing: string[] = [];
  for (const name of names) if (await datasetExists(`${data}/${name}`, nodeFs)) existing.push(name);
  if (existing.length === names.length) throw new CodedError('dataset-exists', { folder: data });
  for (const name of existing) out.write(`${name}: ${data} has it already, it is not changed\n`);
  return names.filter((name) => !existing.includes(name));
}

async function restoreOne(
  folder: string,
  bucket: Bucket,
  err: NodeJS.WritableStream,
): Promise<number> {
  const { countBlocks } = await import('../../cluster/count-blocks.ts');
  const { pullDataset } = await import('../../cluster/pull-dataset.ts');
  const total = await countBlocks(bucket);
  try {
    const { segments } = await withProgress({ total, err }, (onPart) =>
      pullDataset(folder, bucket, { fs: nodeFs, onPart, signal: stopSignal() }),
    );
    return segments;
  } catch (error) {
    throw isCodedError(error, 'segment-damaged') ? damagedBackup(bucket, error) : error;
  }
}

function damagedBackup({ dataset }: Bucket, cause: CodedError): CodedError {
  const { file, segment } = cause.detail;
  const path = `${dataset}/${file ?? `segments/${segment}`}`;
  return new CodedError('backup-damaged', { file: path }, { cause });
}
