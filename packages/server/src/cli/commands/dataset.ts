import { systemClock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { lockDataFolder } from '../../app/lock-data-folder.ts';
import { dropDataset } from '../../dataset/stored/drop-dataset.ts';
import { readStoredDataset } from '../../dataset/stored/stored-dataset.ts';
import { type UpgradeSummary, upgradeDataset } from '../../dataset/stored/upgrade-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';
import { buildCopyCommand, buildTransferCommands } from './dataset-transfer.ts';

interface ListOptions {
  readonly data: string;
  readonly json?: boolean;
}

interface DropOptions {
  readonly data: string;
  readonly yes?: boolean;
}

export function buildDatasetCommand(context: CommandContext): Command {
  const list = new Command('list')
    .description('Show the datasets of a data folder. Works while a service uses it.')
    .option('--data <folder>', 'the data folder', './data')
    .option('--json', 'print JSON')
    .addHelpText('after', examples)
    .action((options: ListOptions) => listDatasets(options, context));
  const drop = new Command('drop')
    .description('Remove a dataset and all its blocks. Fails while a service uses the data folder.')
    .argument('<name>', 'the dataset')
    .option('--data <folder>', 'the data folder', './data')
    .option('--yes', 'confirm; without it, the command only shows what would be lost')
    .addHelpText('after', examples)
    .action((name: string, options: DropOptions) => dropNamed(name, options, context));
  const upgrade = new Command('upgrade')
    .description(
      'Convert a dataset that an older version wrote. Fails while a service uses the data folder.',
    )
    .argument('<name>', 'the dataset')
    .option('--data <folder>', 'the data folder', './data')
    .addHelpText('after', upgradeHelp)
    .action((name: string, options: { readonly data: string }) =>
      upgradeNamed(name, options.data, context),
    );
  const command = new Command('dataset')
    .description(
      'List, drop, upgrade or copy the datasets of a data folder, also to and from an object store.',
    )
    .addCommand(list)
    .addCommand(drop)
    .addCommand(upgrade)
    .addCommand(buildCopyCommand(context))
    .addHelpText('after', examples);
  for (const subcommand of buildTransferCommands(context)) command.addCommand(subcommand);
  return command;
}

const examples = `
Examples:
  $ sluice dataset list
  $ sluice dataset list --data /var/lib/sluice --json
  $ sluice dataset drop mine --yes`;

const upgradeHelp = `
Example:
  $ sluice dataset upgrade mine

Segments are converted one after another, each with its own commit. A run that is stopped or killed loses nothing, and the next
run continues after it. The disk needs space for one additional segment.`;

async function upgradeNamed(
  name: string,
  data: string,
  { out, err }: CommandContext,
): Promise<void> {
  const isThere = (await listDataFolder(data)).includes(name);
  if (!isThere) throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const progress = new Progress({ unit: 'blocks' }, { err, clock: systemClock });
  const lock = await lockDataFolder(data);
  try {
    const summary = await upgradeDataset(
      {
        folder: `${data}/${name}`,
        onPart: (blockCount, byteLength) => progress.add(blockCount, byteLength),
      },
      { fs: nodeFs, isLockHeld: () => lock.isHeld, signal: stopSignal() },
    );
    progress.finish();
    out.write(describeUpgrade(name, summary));
  } finally {
    progress.stop();
    await lock.release();
  }
}

function describeUpgrade(name: string, summary: UpgradeSummary): string {
  const { segmentsConverted, hotBlocksConverted, isComplete } = summary;
  const done = `${formatCount(segmentsConverted)} segments and ${formatCount(hotBlocksConverted)} recent blocks converted`;
  if (!isComplete) return `${name}: stopped, ${done}; run the command again to continue\n`;
  if (segmentsConverted + hotBlocksConverted === 0) return `${name}: nothing to convert\n`;
  return `${name}: ${done}\n`;
}

/** A dataset that cannot be read has an error instead of the other values. */
interface ListedDataset {
  readonly name: string;
  readonly votes?: 'drop' | 'keep';
  readonly start?: number | null;
  readonly finalized?: number | null;
  readonly head?: number | null;
  readonly blocks?: number;
  readonly bytes?: number;
  readonly error?: { readonly code: string; readonly message: string };
}

async function listDatasets({ data, json }: ListOptions, { out }: CommandContext): Promise<void> {
  const listed: ListedDataset[] = [];
  for (const name of await listDataFolder(data)) listed.push(await describe(data, name));
  if (json === true) out.write(`${JSON.stringify(listed, null, 2)}\n`);
  else if (listed.length === 0) out.write(`There is no dataset in ${data}.\n`);
  else out.write(formatTable([heading, ...listed.map(toRow)]));
}

async function describe(dataFolder: string, name: string): Promise<ListedDataset> {
  try {
    const stored = await readStoredDataset(`${dataFolder}/${name}`, nodeFs);
    const { start, finalized, head } = stored.snapshot;
    return {
      name,
      votes: stored.manifest.votes,
      start,
      finalized: finalized?.number ?? null,
      head: head?.number ?? null,
      blocks: stored.blockCount,
      bytes: stored.byteLength,
    };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { name, error: { code: error.code, message: error.message } };
  }
}

const heading = ['dataset', 'votes', 'start', 'finalized', 'head', 'blocks', 'bytes', ''];

function toRow({ name, error, ...rest }: ListedDataset): string[] {
  if (error !== undefined) return [name, '-', '-', '-', '-', '-', '-', `[${error.code}]`];
  const { votes = '-', start, finalized, head, blocks = 0, bytes = 0 } = rest;
  const slots = [start, finalized, head].map((slot) => String(slot ?? '-'));
  return [name, votes, ...slots, formatCount(blocks), formatCount(bytes)];
}

async function dropNamed(
  name: string,
  { data, yes }: DropOptions,
  { out }: CommandContext,
): Promise<void> {
  const isThere = (await listDataFolder(data)).includes(name);
  if (!isThere) throw new CodedError('dataset-missing', { dataset: name, folder: data });
  const { blocks = null, bytes = null, start = null, head = null } = await describe(data, name);
  if (yes !== true) {
    const detail = { dataset: name, blocks, start, head, bytes };
    throw new CodedError('dataset-drop-unconfirmed', detail);
  }
  const lock = await lockDataFolder(data);
  try {
    await dropDataset({ dataFolder: data, name }, nodeFs);
  } finally {
    await lock.release();
  }
  const lost = blocks === null ? '' : `: ${formatCount(blocks)} blocks`;
  out.write(`${name} was removed${lost}\n`);
}
