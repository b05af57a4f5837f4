import { randomInt } from 'node:crypto';
import { Command, Option } from 'commander';
import { backfillDataset } from '../../app/backfill-dataset.ts';
import { systemClock } from '../../base/clock.ts';
import type { Slot } from '../../ledger/primitives.ts';
import type { SourceOptions } from '../../source/open-source.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { datasetNameOption, slotOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import {
  askedSources,
  checkAddresses,
  portalOption,
  type SourceChoice,
} from '../source-options.ts';
import { stopSignal } from '../stop-signal.ts';

interface BackfillCommandOptions extends Omit<SourceChoice, 'ws'> {
  readonly data: string;
  readonly dataset: string;
  readonly to: Slot;
}

export function buildBackfillCommand(context: CommandContext): Command {
  const command = new Command('backfill');
  return command
    .description('Bring the history of a dataset down to a slot, below its first block.')
    .option('--data <folder>', 'the data folder', './data')
    .requiredOption('--dataset <name>', 'the dataset, which must be there', datasetNameOption)
    .addOption(
      new Option('--to <slot>', 'the lowest slot wanted, inclusive; 0 for all there is')
        .argParser(slotOption)
        .makeOptionMandatory(),
    )
    .option('--rpc <url...>', 'nodes to ask by JSON-RPC; one that fails is left for the next')
    .addOption(portalOption('datasets of other Sluices to ask'))
    .addHelpText('after', examples)
    .action((options: BackfillCommandOptions) => {
      checkAddresses(command, options);
      const sources = askedSources(options);
      if (sources.length === 0) command.error('error: --rpc URL or --portal URL is needed');
      return runBackfill(options, sources, context);
    });
}

const examples = `
Examples:
  $ sluice backfill --dataset mine --to 250000000 --rpc http://127.0.0.1:8899
  $ sluice backfill --dataset mine --to 0 --rpc https://node.example --rpc https://archive.example

Only finalized blocks are taken, and each must be the parent of the one above it. Whole segments are added, so a run that
was interrupted or killed goes on where it was when it is started again. While a service runs on the data folder this is
refused; there the option --backfill-to of sluice serve does the same beside following.`;

async function runBackfill(
  { data, dataset: name, to }: BackfillCommandOptions,
  sources: readonly SourceOptions[],
  { out, err }: CommandContext,
): Promise<void> {
  let [first, lowest, blockCount]: number[] & [number, number, number] = [to, to, 0];
  const share = () => (first === to ? 1 : Math.min(1, (first - lowest) / (first - to)));
  const progress = new Progress({ unit: 'blocks', share }, { err, clock: systemClock });
  const start = await backfillDataset(
    { dataFolder: data, name, to, sources, seed: randomInt(2 ** 32) },
    {
      clock: systemClock,
      signal: stopSignal(),
      onStart: (before, firstAvailable) => {
        [first, lowest] = [before, before];
        if (firstAvailable === undefined || firstAvailable <= to) return;
        err.write(`No source has blocks below slot ${firstAvailable}: it will end there.\n`);
      },
      onBlock: (slot, byteLength) => {
        lowest = slot;
        blockCount++;
        progress.add(1, byteLength);
      },
    },
  ).finally(() => progress.finish());
  const what = blockCount === 0 ? 'nothing to do' : `${formatCount(blockCount)} blocks added`;
  out.write(`${name}: ${what}; begins at slot ${start}\n`);
}
