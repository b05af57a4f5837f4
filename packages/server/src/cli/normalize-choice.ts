import { type Command, InvalidArgumentError, Option } from 'commander';
import type { MissingKind } from '../source/normalize-options.ts';

/** How raw blocks become records; the same for every command that reads files of blocks. */
export interface NormalizeChoice {
  readonly votes: 'drop' | 'keep';
  readonly metaOptional?: boolean;
  readonly allowMissing: readonly MissingKind[];
}

export function addNormalizeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--votes <drop|keep>', 'what becomes of vote transactions')
        .choices(['drop', 'keep'])
        .default('drop'),
    )
    .option('--meta-optional', 'take transactions without meta, as the first months have them')
    .addOption(
      new Option('--allow-missing <kinds>', 'kinds a block may lack: logs, rewards')
        .argParser(kindsOption(missingKinds))
        .default([], 'none'),
    );
}

const missingKinds: readonly MissingKind[] = ['logs', 'rewards'];

/** Reads a list with commas of some of these. */
export function kindsOption<Kind extends string>(
  known: readonly Kind[],
): (text: string) => readonly Kind[] {
  return (text) => {
    const kinds = text.split(',') as Kind[];
    if (kinds.every((kind) => known.includes(kind))) return kinds;
    throw new InvalidArgumentError(`Expected ${known.join(', ')}; several with commas.`);
  };
}
