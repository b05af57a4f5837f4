import { Command } from 'commander';
import { type ImportSummary, importFiles } from '../../app/import-files.ts';
import { systemClock } from '../../base/clock.ts';
import type { DatasetDescription } from '../../dataset/dataset-reader.ts';
import type { CommandContext } from '../context.ts';
import { formatCount } from '../format-table.ts';
import { addNormalizeOptions, chooseNormalize, type NormalizeChoice } from '../normalize-choice.ts';
import { datasetNameOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import { stopSignal } from '../stop-signal.ts';

interface ImportCommandOptions extends NormalizeChoice {
  readonly data: string;
  readonly dataset: string;
}

export function buildImportCommand(context: CommandContext): Command {
  const command = new Command('import')
    .description('Put files of blocks into a dataset, which is made if it is not there.')
    .argument(
      '<blocks...>',
      'files of lines {"slot":N,"block":…}, plain, gzip or zstd; - for standard input',
    )
    .option('--data <folder>', 'the data folder', './data')
    .requiredOption('--dataset <name>', 'the dataset to put them into', datasetNameOption);
  return addNormalizeOptions(command)
    .addHelpText('after', examples)
    .action((paths: string[], options: ImportCommandOptions) => runImport(paths, options, context));
}

const examples = `
Examples:
  $ sluice simulate --blocks 1000 --out blocks.jsonl.gz
  $ sluice import --dataset mine blocks.jsonl.gz
  $ zcat blocks.jsonl.gz | sluice import --dataset mine -
  $ sluice import --dataset old --meta-optional --allow-missing logs,rewards 2020-*.jsonl.gz

A new dataset begins at the first block and keeps for good what --votes, --meta-optional and --allow-missing say. Every
further block must be the child of the one before it; blocks that are stored already are passed over. So a run that was
interrupted, or stopped at a line that does not link, goes on where it was when it is started again.`;

async function runImport(
  paths: readonly string[],
  { data, dataset: name, ...choice }: ImportCommandOptions,
  { out, err }: CommandContext,
): Promise<void> {
  const manifest = chooseNormalize(choice);
  let share: number | undefined;
  const progress = new Progress(
    { unit: 'blocks', share: () => share },
    { err, clock: systemClock },
  );
  const summary = await importFiles(
    { dataFolder: data, name, paths, manifest },
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
  asked: { votes: string; metaOptional: boolean; allowMissing: readonly string[] },
): string {
  const wanted = [...asked.allowMissing, ...(asked.metaOptional ? ['meta'] : [])];
  const kinds: readonly string[] = allowMissing;
  const isSame = votes === asked.votes && wanted.every((kind) => kinds.includes(kind));
  if (isSame) return '';
  const kept = `votes ${votes}, may lack ${kinds.join(', ') || 'nothing'}`;
  return `${name} is there and stays as it was made: ${kept}.\n`;
}

function describe(name: string, { importedCount, knownCount, range }: ImportSummary): string {
  // A new dataset without blocks is removed.
  if (range === null) return `${name}: there is no block in the files; no dataset was made\n`;
  const known = knownCount === 0 ? '' : `, ${formatCount(knownCount)} were there already`;
  const slots = `slots ${range[0]} to ${range[1]}`;
  return `${name}: ${formatCount(importedCount)} blocks imported${known}; now ${slots}\n`;
}
