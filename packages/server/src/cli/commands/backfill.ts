import { randomInt } from 'node:crypto';
import { systemClock } from '@sluice/base/clock';
import type { Slot } from '@sluice/ledger/primitives';
import type { SourceOptions } from '@sluice/source/open-source';
import { Command, Option } from 'commander';
import { backfillDataset } from '../../app/backfill-dataset.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { datasetNameOption, slotOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import {
  checkAddresses,
  chosenSources,
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
    .description('Load the history of a dataset below its first block, down to a slot.')
    .option('--data <folder>', 'the data folder', './data')
    .requiredOption('--dataset <name>', 'the dataset, which must exist', datasetNameOption)
    .addOption(
      new Option('--to <slot>', 'the lowest slot to load, inclusive; 0 for all history')
        .argParser(slotOption)
        .makeOptionMandatory(),
    )
    .option('--rpc <url...>', 'nodes to read by JSON-RPC; if one fails, the next is used')
    .addOption(portalOption('datasets of other Sluices to read'))
    .option(
      '--archive <location...>',
      'folders or addresses with archives: epoch-N.car and epoch-N-slot-ranges.raw',
    )
    .addHelpText('after', examples)
    .action((options: BackfillCommandOptions) => {
      checkAddresses(command, options);
      const sources = chosenSources(options);
      if (sources.length === 0) {
        command.error('error: --rpc URL, --portal URL or --archive FOLDER is needed');
      }
      return runBackfill(options, sources, context);
    });
}

const examples = `
Examples:
  $ sluice backfill --dataset mine --to 250000000 --rpc http://127.0.0.1:8899
  $ sluice backfill --dataset mine --to 0 --rpc https://node.example --rpc https://archive.example
  $ sluice backfill --dataset mine --to 345600000 --archive https://files.example --rpc https://node.example

Loads only finalized blocks, and each must be the parent of the block above it. Blocks are stored in whole segments, so the
next run continues after an interrupted or killed one. The command fails while a service uses the data folder; for a running
service, use the option --backfill-to of sluice serve.`;

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
        err.write(
          `No source has blocks below slot ${firstAvailable}: the backfill will end there.\n`,
        );
      },
      onBlock: (slot, byteLength) => {
        lowest = slot;
        blockCount++;
        progress.add(1, byteLength);
      },
    },
  ).finally(() => progress.finish());
  const what = blockCount === 0 ? 'nothing to do' : `${formatCount(blockCount)} blocks added`;
  out.write(`${name}: ${what}; starts at slot ${start}\n`);
}
