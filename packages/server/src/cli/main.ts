import { isSluiceError } from '@sluice/client';
import { Command, CommanderError } from 'commander';
import { CodedError, isCodedError } from '../base/errors.ts';
import { type BuildCommand, loadCommands } from './commands.ts';
import type { CommandContext } from './context.ts';
import { EXIT, exitCodeHelp } from './exit-codes.ts';
import { readVersion } from './read-version.ts';

const systemContext: CommandContext = {
  out: process.stdout,
  err: process.stderr,
};

/** Runs one command line and answers with the exit code; nothing below it ends the process. */
export async function main(
  args: string[],
  context: CommandContext = systemContext,
  commands?: readonly BuildCommand[],
): Promise<number> {
  try {
    const program = buildProgram(context, commands ?? (await loadCommands(args[0])));
    await program.parseAsync(rewriteHelp(program, args), { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, context);
  }
}

export function buildProgram(context: CommandContext, commands: readonly BuildCommand[]): Command {
  const program = new Command('sluice')
    .description(
      'Follow a Solana-type ledger, keep it in columns, stream exactly the slice you need.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', `\n${exitCodeHelp()}`);
  for (const build of commands) program.addCommand(build(context));
  harden(program, program.name(), context);
  return program;
}

/** `help x` is `x --help`. For an x that is not there the parser would show the general help: let it see the x alone. */
function rewriteHelp(program: Command, args: string[]): string[] {
  const rewritten = args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;
  const [name = ''] = rewritten;
  const isKnown = program.commands.some((command) => command.name() === name);
  return isKnown || !/^\w/.test(name) || name === 'help' ? rewritten : [name];
}

/** Every command refuses what it does not know, and says so the same way. `path` is how a person calls it. */
function harden(command: Command, path: string, context: CommandContext): void {
  command
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .showHelpAfterError(`(see ${path} --help)`)
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: (text) => context.err.write(text),
    });
  checkRequiredLast(command);
  passOverEmptyVariables(command);
  for (const child of command.commands) harden(child, `${path} ${child.name()}`, context);
}

/** A compose file hands on variables that nobody set as empty ones. */
function passOverEmptyVariables(command: Command): void {
  for (const option of command.options) {
    if (option.envVar !== undefined && process.env[option.envVar] === '') delete option.envVar;
  }
}

/**
 * The parser would miss a required option before it looks at unknown ones, and so hide that the required one was
 * misspelled. A hook before the action runs after all other checks.
 */
function checkRequiredLast(command: Command): void {
  const required = command.options.filter((option) => option.mandatory);
  for (const option of required) option.mandatory = false;
  command.hook('preAction', () => {
    for (const option of required) {
      if (command.getOptionValue(option.attributeName()) !== undefined) continue;
      command.error(`error: required option '${option.flags}' not specified`);
    }
  });
}

/** Modules, threads and files are opened everywhere; where there is no room for one more, that is no bug of ours. */
function isOutOfFiles(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EMFILE';
}

function report(thrown: unknown, context: CommandContext): number {
  const error = isOutOfFiles(thrown) ? new CodedError('open-files-too-few') : thrown;
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (isCodedError(error)) {
    context.err.write(`sluice: ${error.message} [${error.code}]\n`);
    return error.code === 'cli-usage' ? EXIT.usage : EXIT.failure;
  }
  // The message of the client ends with its code.
  if (isSluiceError(error)) {
    context.err.write(`sluice: ${error.message}\n`);
    return EXIT.failure;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.err.write(`sluice: internal error, please report it:\n${text}\n`);
  return EXIT.bug;
}
