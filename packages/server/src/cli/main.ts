import { Command, CommanderError } from 'commander';
import { isCodedError } from '../base/errors.ts';
import { COMMANDS } from './commands.ts';
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
): Promise<number> {
  try {
    await buildProgram(context).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, context);
  }
}

export function buildProgram(context: CommandContext): Command {
  const program = new Command('sluice')
    .description(
      'Follow a Solana-type ledger, keep it in columns, stream exactly the slice you need.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', `\n${exitCodeHelp()}`);
  for (const build of COMMANDS) program.addCommand(build(context));
  for (const command of [program, ...program.commands]) harden(command, context);
  return program;
}

/** Every command refuses what it does not know, and says so the same way. */
function harden(command: Command, context: CommandContext): void {
  command
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .showHelpAfterError(
      `(see sluice ${command.name() === 'sluice' ? '' : `${command.name()} `}--help)`,
    )
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: (text) => context.err.write(text),
    });
  for (const child of command.commands) harden(child, context);
}

function report(error: unknown, context: CommandContext): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (isCodedError(error)) {
    context.err.write(`sluice: ${error.message} [${error.code}]\n`);
    return error.code === 'cli-usage' ? EXIT.usage : EXIT.failure;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.err.write(`sluice: internal error, please report it:\n${text}\n`);
  return EXIT.bug;
}
