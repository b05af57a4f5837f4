import type { MissingKind } from '@sluice/source/normalize/normalize-options';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** The options for normalizing blocks of every command that reads files of blocks. */
export interface NormalizeChoice {
  readonly votes: 'drop' | 'keep';
  readonly metaOptional?: boolean;
  readonly allowMissing: readonly OptionalKind[];
}

export function addNormalizeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--votes <drop|keep>', 'drop or keep vote transactions')
        .choices(['drop', 'keep'])
        .default('drop'),
    )
    .option('--meta-optional', metaOptionalText)
    .addOption(
      new Option(
        '--allow-missing <kinds>',
        'kinds of records that a block may lack: logs, rewards, meta',
      )
        .argParser(kindsOption(OPTIONAL_KINDS))
        .default([], 'none'),
    );
}

export const metaOptionalText =
  'accept transactions without meta, as in the first months of the ledger; the same as --allow-missing meta';

/** The parts that blocks may lack. `meta` can be given in two ways. */
type OptionalKind = MissingKind | 'meta';

export const OPTIONAL_KINDS: readonly OptionalKind[] = ['logs', 'rewards', 'meta'];

export function chooseNormalize({ votes, metaOptional, allowMissing }: NormalizeChoice) {
  return {
    votes,
    metaOptional: metaOptional === true || allowMissing.includes('meta'),
    allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
  };
}

/** Parses a comma-separated list of allowed values. */
export function kindsOption<Kind extends string>(
  known: readonly Kind[],
): (text: string) => readonly Kind[] {
  return (text) => {
    const names = text.split(',');
    const kinds = names.flatMap((name) => known.find((kind) => kind === name) ?? []);
    if (kinds.length === names.length) return kinds;
    throw new InvalidArgumentError(`Expected ${known.join(', ')}; separate several with commas.`);
  };
}
