import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { Command } from 'commander';
import type { Config } from '../../app/config/config-schema.ts';
import { datasetFolder } from '../../app/config/dataset-folder.ts';
import { loadConfig } from '../../app/config/load-config.ts';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import { MergeThread } from '../../dataset/merge/merge-thread.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';

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
  const progress = new Progress({ unit: 'blocks' }, { err, clock: systemClock });
  const lock = await lockDataFolder(config.data);
  const { bucket, close } = await openBucketOf(name, config);
  const merger = new MergeThread(systemClock);
  const dependencies = {
    fs: nodeFs,
    merge: (segments: Parameters<typeof merger.merge>[0]) => merger.merge(segments),
    newWriter: () => `folder-${randomUUID()}`,
    onPart: (blockCount: number, byteLength: number) => progress.add(blockCount, byteLength),
    signal: stopSignal(),
  };
  try {
    if (direction === 'push') {
      const { pushDataset } = await import('../../cluster/push-dataset.ts');
      const { segments, manifest, leftBlocks } = await pushDataset(folder, bucket, dependencies);
      const left = leftBlocks === 0 ? '' : `; ${formatCount(leftBlocks)} blocks are not final yet`;
      progress.finish();
      out.write(`${name}: manifest ${manifest} with ${formatCount(segments)} segments${left}\n`);
    } else {
      const { pullDataset } = await import('../../cluster/pull-dataset.ts');
      const { segments } = await pullDataset(folder, bucket, dependencies);
      progress.finish();
      out.write(`${name}: ${formatCount(segments)} segments in ${folder}\n`);
    }
  } finally {
    progress.stop();
    await merger.close();
    await close();
    await lock.release();
  }
}

async function openBucketOf(name: string, { store: config }: Config) {
  if (config === undefined) throw new CodedError('config-key-missing', { key: 'store' });
  const { openStore } = await import('../../app/remote/open-store.ts');
  const { openBucket } = await import('../../cluster/bucket.ts');
  const random = Random.fromSeed(randomBytes(4).readUInt32LE());
  const store = openStore(config, {
    clock: systemClock,
    environment: process.env,
    random: () => random.unit(),
  });
  // A transfer reads whole segments and caches none of them.
  const cacheFolder = await mkdtemp(join(tmpdir(), 'sluice-transfer-'));
  const { cacheBytesMax, requestCountMax } = config;
  const options = { dataset: name, cacheFolder, cacheBytesMax, requestCountMax };
  const bucket = await openBucket(options, { store, clock: systemClock, fs: nodeFs });
  const close = async () => {
    await bucket.cache.close();
    await store.close();
    await rm(cacheFolder, { recursive: true, force: true });
  };
  return { bucket, close };
}
