import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { type Damage, verifyDataset } from '../../dataset/stored/verify-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';

interface VerifyCommandOptions {
  readonly data: string;
  readonly dataset?: string;
}

export function buildVerifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .description('Check stored datasets for damage. Works while a service uses them.')
    .option('--data <folder>', 'the data folder', './data')
    .option('--dataset <name>', 'only this dataset (default: all)')
    .addHelpText('after', examples)
    .action((options: VerifyCommandOptions) => verify(options, context));
}

const examples = `
Examples:
  $ sluice verify
  $ sluice verify --data /var/lib/sluice --dataset mine

Reads the manifest, the journal, every segment, list and index, verifies all checksums, and checks that every block is the child of
the block below it. Changes nothing. Each damage is printed on a separate line, and the exit code is then 1.`;

async function verify(
  { data, dataset }: VerifyCommandOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const there = await listDataFolder(data);
  const names = dataset === undefined ? there : there.filter((name) => name === dataset);
  if (names.length === 0) {
    if (dataset !== undefined) throw new CodedError('dataset-missing', { dataset, folder: data });
    throw new CodedError('datasets-missing', { folder: data });
  }
  const signal = stopSignal();
  const progress = new Progress({ unit: 'blocks' }, { err, clock: systemClock });
  const onPart = (blocks: number, bytes: number) => progress.add(blocks, bytes);
  let damageCount = 0;
  for (const name of names) {
    const damages = await verifyDataset({ folder: `${data}/${name}`, onPart }, nodeFs, signal);
    if (signal.aborted) throw new CodedError('verify-interrupted');
    damageCount += damages.length;
    out.write(damages.length === 0 ? `${name}: no damage found\n` : describe(name, damages));
  }
  progress.finish();
  if (damageCount > 0) throw new CodedError('verify-damaged', { damages: damageCount });
}

function describe(name: string, damages: readonly Damage[]): string {
  return damages
    .map(({ file, error }) => `${name}: ${file}: ${error.message} [${error.code}]\n`)
    .join('');
}
