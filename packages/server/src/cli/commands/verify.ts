import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Command, Option } from 'commander';
import { type Damage, verifyDataset } from '../../dataset/stored/verify-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { type Comparison, compareDatasets } from '../compare-datasets.ts';
import type { CommandContext } from '../context.ts';
import { listDataFolder } from '../list-data-folder.ts';
import { slotOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import { createTargetClient } from '../query/run-query.ts';
import { stopSignal } from '../stop-signal.ts';
import { openTarget } from '../target/open-target.ts';

interface VerifyCommandOptions {
  readonly data: string;
  readonly dataset?: string;
  readonly against?: string;
  readonly from?: number;
  readonly to?: number;
}

export function buildVerifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .description('Check stored datasets for damage. Works while a service uses them.')
    .option('--data <folder>', 'the data folder', './data')
    .option('--dataset <name>', 'only this dataset (default: all)')
    .option('--against <url>', 'compare the final blocks with those of this dataset instead')
    .addOption(new Option('--from <slot>', 'with --against: the first slot').argParser(slotOption))
    .addOption(new Option('--to <slot>', 'with --against: the last slot').argParser(slotOption))
    .addHelpText('after', examples)
    .action((options: VerifyCommandOptions) =>
      options.against === undefined
        ? verify(options, context)
        : compare({ ...options, against: options.against }, context),
    );
}

const examples = `
Examples:
  $ sluice verify
  $ sluice verify --data /var/lib/sluice --dataset mine
  $ sluice verify --dataset mine --against http://other:8080/datasets/mine

Reads the manifest, the journal, every segment, list and index, verifies all checksums, and checks that every block is the child of
the block below it. Changes nothing. Each damage is printed on a separate line, and the exit code is then 1.

With --against, compares digests of the final blocks that both datasets have, and prints the first different block: its slot, both
hashes, and which records differ. The exit code is then 1.`;

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
    const onIncomplete = (byteLength: number) => out.write(describeIncomplete(name, byteLength));
    const options = { folder: `${data}/${name}`, onPart, onIncomplete };
    const damages = await verifyDataset(options, nodeFs, signal);
    if (signal.aborted) throw new CodedError('verify-interrupted');
    damageCount += damages.length;
    out.write(damages.length === 0 ? `${name}: no damage found\n` : describe(name, damages));
  }
  progress.finish();
  if (damageCount > 0) throw new CodedError('verify-damaged', { damages: damageCount });
}

function describeIncomplete(name: string, byteLength: number): string {
  return `${name}: note: the journal ends with ${byteLength} bytes that are no complete record, which the next start discards
`;
}

function describe(name: string, damages: readonly Damage[]): string {
  return damages
    .map(({ file, error }) => `${name}: ${file}: ${error.message} [${error.code}]\n`)
    .join('');
}

async function compare(
  { data, dataset, against, from, to }: VerifyCommandOptions & { readonly against: string },
  { out, err }: CommandContext,
): Promise<void> {
  if (from !== undefined && to !== undefined && to < from)
    throw new CodedError('cli-usage', { option: '--to', allowed: `${from} or more` });
  const signal = stopSignal();
  const there = await openTarget({ target: against, data: undefined });
  const here = await openTarget({ target: dataset, data });
  const progress = new Progress({ unit: 'blocks' }, { err, clock: systemClock });
  try {
    const options = { isPatient: false };
    const comparison = await compareDatasets(
      [createTargetClient(here, options), createTargetClient(there, options)],
      {
        range: {
          ...(from === undefined ? {} : { first: from }),
          ...(to === undefined ? {} : { last: to }),
        },
        onEqual: (blocks) => progress.add(blocks, 0),
        signal,
      },
    );
    progress.finish();
    out.write(describeComparison(here.name, there.where, comparison));
    if (comparison.difference !== undefined)
      throw new CodedError('verify-different', { slot: comparison.difference.slot });
  } catch (error) {
    throw signal.aborted ? new CodedError('verify-interrupted', {}, { cause: error }) : error;
  } finally {
    await here.close();
    await there.close();
  }
}

function describeComparison(
  name: string,
  where: string,
  { range: { first, last }, blocks, difference }: Comparison,
): string {
  if (difference === undefined)
    return `${name}: equal to ${where} from slot ${first} to ${last}: ${blocks} blocks\n`;
  const { slot, hashes, parts } = difference;
  const [here, there] = hashes.map((hash) => hash ?? 'no block');
  return `${name}: differs from ${where} first at slot ${slot}, after ${blocks} equal blocks
  here: ${here}
  there: ${there}
  different: ${parts.join(', ')}
`;
}
