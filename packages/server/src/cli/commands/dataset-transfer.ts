import { randomUUID } from 'node:crypto';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { datasetFolder } from '../../app/config/dataset-folder.ts';
import { loadConfig } from '../../app/config/load-config.ts';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import type { Bucket } from '../../cluster/bucket.ts';
import { MergeThread } from '../../dataset/merge/merge-thread.ts';
import { readStoredDataset } from '../../dataset/stored/stored-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { type BackupLocation, isAddress, openConfiguredStore } from '../open-location.ts';
import { stopSignal } from '../stop-signal.ts';
import { backUp, withProgress } from './backup.ts';

interface TransferOptions {
  readonly config: string;
  readonly data?: string;
}

const examples = `
Examples:
  $ sluice dataset push mine --config sluice.yaml
  $ sluice dataset pull mine --config sluice.yaml --data ./copy

The object store is that of the configuration (store). An interrupted command continues when it is run again. Both commands fail
while a service uses the data folder.`;

interface CopyOptions {
  readonly data: string;
  readonly to: string;
}

const copyHelp = `
Examples:
  $ sluice dataset copy mine --to /mnt/larger-disk/sluice
  $ sluice dataset copy mine --data /var/lib/sluice --to s3://archive/sluice

A service may use the first data folder at the same time. Only finalized blocks are copied. A copy in another data folder is a dataset that
a service can use at once. A copy in an object store is a backup, which sluice restore brings back to a data folder. An interrupted copy
continues when it is run again.`;

/** Copies between data folders. Copies to and from an object store are backups. */
export function buildCopyCommand(context: CommandContext): Command {
  return new Command('copy')
    .description('Copy a dataset to another data folder or to an object store.')
    .argument('<name>', 'the dataset')
    .requiredOption('--to <location>', 'another data folder, or s3://BUCKET/PREFIX')
    .option('--data <folder>', 'the data folder', './data')
    .addHelpText('after', copyHelp)
    .action((name: string, options: CopyOptions) => copyNamed(name, options, context));
}

async function copyNamed(
  name: string,
  { data, to }: CopyOptions,
  context: CommandContext,
): Promise<void> {
  if (isAddress(to)) return backUp([name], { data, to }, context);
  const there = await listDataFolder(data);
  if (!there.includes(name))
    throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const { copyToFolder } = await import('../../cluster/pull-dataset.ts');
  const merger = new MergeThread(systemClock);
  const lock = await lockDataFolder(to);
  try {
    const { blockCount: total } = await readStoredDataset(`${data}/${name}`, nodeFs);
    const { segments } = await withProgress({ total, err: context.err }, (onPart) =>
      copyToFolder(`${data}/${name}`, `${to}/${name}`, {
        fs: nodeFs,
        merge: (sequence) => merger.merge(sequence),
        onPart,
        signal: stopSignal(),
      }),
    );
    context.out.write(`${name}: ${formatCount(segments)} segments in ${to}/${name}\n`);
  } finally {
    await merger.close();
    await lock.release();
  }
}

export function buildTransferCommands(context: CommandContext): Command[] {
  const describe = {
    push: 'Copy the finalized blocks of a dataset to the object store of a configuration.',
    pull: 'Copy a dataset from the object store of a configuration to a data folder.',
  };
  return (['push', 'pull'] as const).map((direction) =>
    new Command(direction)
      .description(describe[direction])
      .argument('<name>', 'the dataset')
      .option('--config <file>', 'the configuration', 'sluice.yaml')
      .option('--data <folder>', 'the data folder (default: that of the configuration)')
      .addHelpText('after', examples)
      .action((name: string, options: TransferOptions) =>
        transfer(direction, name, options, context),
      ),
  );
}

async function transfer(
  direction: 'push' | 'pull',
  name: string,
  options: TransferOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const overrides = options.data === undefined ? {} : { data: options.data };
  const { config } = loadConfig({ file: options.config, overrides }, process.env);
  const listed = config.datasets.find((dataset) => dataset.name === name);
  const folder = datasetFolder(listed ?? { name }, config);
  const { store } = config;
  if (store === undefined) throw new CodedError('config-key-missing', { key: 'store' });
  const lock = await lockDataFolder(config.data);
  const merger = new MergeThread(systemClock);
  let location: BackupLocation | undefined;
  try {
    location = await openConfiguredStore(store);
    const bucket = await location.openBucket(name);
    const line = await copy[direction](folder, bucket, { merger, err });
    out.write(`${name}: ${line}\n`);
  } finally {
    await merger.close();
    await location?.close();
    await lock.release();
  }
}

interface TransferDependencies {
  readonly merger: MergeThread;
  readonly err: NodeJS.WritableStream;
}

/** Copies between a folder and a bucket. Returns what was copied. */
const copy = {
  push: async (folder: string, bucket: Bucket, { merger, err }: TransferDependencies) => {
    const { pushDataset } = await import('../../cluster/push-dataset.ts');
    const { blockCount: total } = await readStoredDataset(folder, nodeFs);
    const { segments, manifest, leftBlocks } = await withProgress({ total, err }, (onPart) =>
      pushDataset(folder, bucket, {
        fs: nodeFs,
        merge: (sequence) => merger.merge(sequence),
        newWriter: () => `folder-${randomUUID()}`,
        onPart,
        signal: stopSignal(),
      }),
    );
    const left = leftBlocks === 0 ? '' : `; ${formatCount(leftBlocks)} blocks are not final yet`;
    return `manifest ${manifest} with ${formatCount(segments)} segments${left}`;
  },
  pull: async (folder: string, bucket: Bucket, { err }: TransferDependencies) => {
    const { countBlocks } = await import('../../cluster/count-blocks.ts');
    const { pullDataset } = await import('../../cluster/pull-dataset.ts');
    const total = await countBlocks(bucket);
    const { segments } = await withProgress({ total, err }, (onPart) =>
      pullDataset(folder, bucket, { fs: nodeFs, onPart, signal: stopSignal() }),
    );
    return `${formatCount(segments)} segments in ${folder}`;
  },
};
