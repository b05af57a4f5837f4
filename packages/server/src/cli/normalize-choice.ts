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
        .argParser(parseKinds)
        .default([], 'none'),
    );
}

const missingKinds: readonly MissingKind[] = ['logs', 'rewards'];

function parseKinds(text: string): readonly MissingKind[] {
  const kinds = text.split(',') as MissingKind[];
  if (kinds.every((kind) => missingKinds.includes(kind))) return kinds;
  throw new InvalidArgumentError(`Expected ${missingKinds.join(', ')}, or both with a comma.`);
}
