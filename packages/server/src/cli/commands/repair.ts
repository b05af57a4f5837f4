import { randomInt } from 'node:crypto';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { Closers } from '../../app/closers.ts';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import { bucketSource, ledgerSources } from '../../app/repair-sources.ts';
import { makeIndexInThread } from '../../dataset/history/index-thread.ts';
import { MergeThread } from '../../dataset/merge/merge-thread.ts';
import { type RepairSource, repairDataset } from '../../dataset/stored/repair-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { openLocation } from '../open-location.ts';
import { checkAddresses, chosenSources, type SourceChoice } from '../source-options.ts';
import { stopSignal } from '../stop-signal.ts';
import { withProgress } from './backup.ts';

interface RepairCommandOptions extends Pick<SourceChoice, 'rpc' | 'archive'> {
  readonly from?: string;
  readonly data: string;
}

const examples = `
Examples:
  $ sluice repair mine --from /mnt/backup
  $ sluice repair mine --data /var/lib/sluice --from s3://backups/sluice --rpc http://127.0.0.1:8899

Verifies the dataset as sluice verify does, and replaces what is damaged: segments, lists of segments and blocks of the journal by those of the
backup, of the object store or of the nodes, indexes by new ones. Every block must have the hash that the dataset knows. Undamaged files are
not changed. A dataset whose manifest or journal cannot be read is not repaired: use sluice restore. The command fails while a service uses the
data folder, and its exit code is 1 if damage is left.`;

export function buildRepairCommand(context: CommandContext): Command {
  const command = new Command('repair');
  return command
    .description('Replace the damaged parts of a dataset from a backup, an object store or a node.')
    .argument('<dataset>', 'the dataset')
    .option(
      '--from <location>',
      'a backup or the store of a service: a folder, or s3://BUCKET/PREFIX',
    )
    .option('--rpc <url...>', 'nodes to read by JSON-RPC')
    .option('--archive <location...>', 'folders or addresses with archives, as for sluice backfill')
    .option('--data <folder>', 'the data folder', './data')
    .addHelpText('after', examples)
    .action((dataset: string, options: RepairCommandOptions) => {
      checkAddresses(command, options);
      const { from, rpc = [], archive = [] } = options;
      if (from === undefined && rpc.length + archive.length === 0)
        command.error('error: --from PLACE, --rpc URL or --archive FOLDER is needed');
      return repair(dataset, options, context);
    });
}

/** A backup comes first, because it may have the same file. */
async function openSources(
  { data, name }: { readonly data: string; readonly name: string },
  { from, rpc, archive }: RepairCommandOptions,
  signal: AbortSignal,
  closers: Closers,
): Promise<RepairSource[]> {
  const sources: RepairSource[] = [];
  if (from !== undefined) {
    const location = await openLocation(from);
    closers.add(() => location.close());
    const bucket = await location.openBucket(name);
    const latest = await bucket.log.readLatest();
    if (latest === undefined) throw new CodedError('backup-missing', { from, dataset: name });
    sources.push(await bucketSource(bucket));
  }
  const chosen = chosenSources({ ...(rpc && { rpc }), ...(archive && { archive }) });
  const options = { folder: `${data}/${name}`, sources: chosen, seed: randomInt(2 ** 32) };
  sources.push(...(await ledgerSources(options, { clock: systemClock, signal }, closers)));
  return sources;
}

async function repair(
  name: string,
  options: RepairCommandOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const { data } = options;
  if (!(await listDataFolder(data)).includes(name))
    throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const folder = `${data}/${name}`;
  const signal = stopSignal();
  const closers = new Closers();
  try {
    const lock = await lockDataFolder(data);
    closers.add(() => lock.release());
    const sources = await openSources({ data, name }, options, signal, closers);
    const merger = new MergeThread(systemClock);
    closers.add(() => merger.close());
    let repairedCount = 0;
    const left = await withProgress({ err }, (onPart) =>
      repairDataset(
        {
          folder,
          onPart,
          onRepaired: (file, failure) => {
            if (failure === undefined) repairedCount++;
            const how = failure === undefined ? 'repaired' : `${failure.message} [${failure.code}]`;
            out.write(`${name}: ${file}: ${how}\n`);
          },
        },
        {
          fs: nodeFs,
          isLockHeld: () => lock.isHeld,
          merge: (segments) => merger.merge(segments),
          makeIndex: makeIndexInThread,
          sources,
          signal,
        },
      ),
    );
    if (signal.aborted) throw new CodedError('cli-interrupted');
    for (const { file, error } of left)
      out.write(`${name}: ${file}: still damaged: ${error.message} [${error.code}]\n`);
    if (left.length > 0) throw new CodedError('repair-incomplete', { damages: left.length });
    out.write(repairedCount === 0 ? `${name}: no damage found\n` : `${name}: no damage is left\n`);
  } finally {
    await closers.closeAll();
  }
}
