import { systemClock } from '@sluice/base/clock';
import { delayOptimization } from '@sluice/base/delay-optimization';
import { Command } from 'commander';
import { type ImportSummary, importFiles } from '../../app/import-files.ts';
import type { DatasetDescription } from '../../dataset/dataset-reader.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { addNormalizeOptions, chooseNormalize, type NormalizeChoice } from '../normalize-choice.ts';
import { datasetNameOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import { checkAddresses } from '../source-options.ts';
import { stopSignal } from '../stop-signal.ts';

interface ImportCommandOptions extends NormalizeChoice {
  readonly rpc?: string;
  readonly data: string;
  readonly dataset: string;
}

export function buildImportCommand(context: CommandContext): Command {
  const command = new Command('import')
    .description('Import files of blocks into a dataset, which is created if it does not exist.')
    .argument(
      '<blocks...>',
      'files of lines {"slot":N,"block":…}, plain, gzip or zstd; archives (*.car); protobufs (SLOT.pb); - for standard input',
    )
    .option('--data <folder>', 'the data folder', './data')
    .requiredOption('--dataset <name>', 'the dataset to import into', datasetNameOption)
    .option(
      '--rpc <url>',
      'a node that has the parent of the first block, whose hash archives lack',
    );
  return addNormalizeOptions(command)
    .addHelpText('after', examples)
    .action((paths: string[], options: ImportCommandOptions) => {
      const { rpc } = options;
      checkAddresses(command, rpc === undefined ? {} : { rpc: [rpc] });
      return runImport(paths, options, context);
    });
}

const examples = `
Examples:
  $ sluice simulate --blocks 1000 --out blocks.jsonl.gz
  $ sluice import --dataset mine blocks.jsonl.gz
  $ zcat blocks.jsonl.gz | sluice import --dataset mine -
  $ sluice import --dataset history epoch-800.car epoch-801.car
  $ sluice import --dataset old --meta-optional --allow-missing logs,rewards 2020-*.jsonl.gz

A new dataset starts at the first block. Its values of --votes, --meta-optional and --allow-missing cannot be changed later.
Every further block must be the child of the previous one. Blocks that are already stored are skipped, so running the command
again continues after an interruption or a block that did not link.`;

async function runImport(
  paths: readonly string[],
  { data, dataset: name, rpc, ...choice }: ImportCommandOptions,
  { out, err }: CommandContext,
): Promise<void> {
  delayOptimization();
  const manifest = chooseNormalize(choice);
  let share: number | undefined;
  const progress = new Progress(
    { unit: 'blocks', share: () => share },
    { err, clock: systemClock },
  );
  const summary = await importFiles(
    { dataFolder: data, name, paths, manifest, rpc },
    {
      clock: systemClock,
      signal: stopSignal(),
      onOpen: (description) => err.write(describeDifference(description, manifest)),
      onRead: (read) => {
        share = read;
      },
      onBlock: (byteLength) => progress.add(1, byteLength),
    },
  ).catch((error: unknown) => {
    progress.stop();
    throw error;
  });
  progress.finish();
  out.write(describe(name, summary));
}

/** Reports options that have no effect, because the options of an existing dataset cannot be changed. */
function describeDifference(
  { name, votes, allowMissing }: DatasetDescription,
  requested: { votes: string; metaOptional: boolean; allowMissing: readonly string[] },
): string {
  const wanted = [...requested.allowMissing, ...(requested.metaOptional ? ['meta'] : [])];
  const kinds: readonly string[] = allowMissing;
  const isSame = votes === requested.votes && wanted.every((kind) => kinds.includes(kind));
  if (isSame) return '';
  const kept = `votes ${votes}, allow-missing ${kinds.join(',') || 'none'}`;
  return `${name} exists and keeps the options it was created with: ${kept}.\n`;
}

function describe(name: string, { importedCount, knownCount, range }: ImportSummary): string {
  // A new dataset without blocks is removed.
  if (range === null) return `${name}: the files contain no block; no dataset was created\n`;
  const known = knownCount === 0 ? '' : `, ${formatCount(knownCount)} already stored`;
  const slots = `slots ${range[0]} to ${range[1]}`;
  return `${name}: ${formatCount(importedCount)} blocks imported${known}; now ${slots}\n`;
}
