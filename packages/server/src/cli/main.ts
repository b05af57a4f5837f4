import { watchAssertions } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { isSluiceError } from '@sluice/client';
import { Command, CommanderError } from 'commander';
import { type BuildCommand, loadCommands } from './commands.ts';
import type { CommandContext } from './context.ts';
import { readVersion } from './read-version.ts';

const systemContext: CommandContext = {
  out: process.stdout,
  err: process.stderr,
};

/**
 * Reports failed assertions of all threads. One in this thread also ends the process: its state may be wrong, so it must not write
 * anything more.
 */
export function endOnFailedAssertion(endProcess: (exitCode: number) => void): void {
  const write = (text: string) => process.stderr.write(bugReport(text));
  watchAssertions({
    onFailed: (text) => {
      write(text);
      endProcess(EXIT.bug);
    },
    onFailedElsewhere: write,
  });
}

/** Runs one command line and returns the exit code. Nothing called from here ends the process. */
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

/** Converts `help x` into `x --help`, and `help x` of an unknown x into `x`: with `--help` the parser would not refuse it. */
function rewriteHelp(program: Command, args: string[]): string[] {
  const rewritten = args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;
  const [name = ''] = rewritten;
  const isKnown = program.commands.some((command) => command.name() === name);
  return isKnown || !/^\w/.test(name) || name === 'help' ? rewritten : [name];
}

/** Makes every command reject unknown arguments in the same way. `path` is the full name of the command. */
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

/** Removes empty variables, because a compose file passes on unset variables as empty ones. */
function passOverEmptyVariables(command: Command): void {
  for (const option of command.options) {
    if (option.envVar !== undefined && process.env[option.envVar] === '') delete option.envVar;
  }
}

/**
 * Checks required options in a hook, after all other checks. The parser would report a missing option before an unknown one, and so
 * hide that the required option is misspelled.
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

/** Returns whether an error is caused by the limit of open files, which can happen anywhere and is not a bug. */
function isOutOfFiles(error: unknown): boolean {
  return systemErrorCode(error) === 'EMFILE';
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
  // The message of a client error ends with its code.
  if (isSluiceError(error)) {
    context.err.write(`sluice: ${error.message}\n`);
    return EXIT.failure;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.err.write(bugReport(text));
  return EXIT.bug;
}

function bugReport(text: string): string {
  return `sluice: internal error, please report it:\n${text}\n`;
}

/** The exit codes. `docs/cli.md` has the same table. */
const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  bug: 70,
} as const;

function exitCodeHelp(): string {
  return [
    'Exit codes:',
    `  ${EXIT.ok}   done`,
    `  ${EXIT.failure}   the command failed; the message gives the reason`,
    `  ${EXIT.usage}   the command line is wrong`,
    `  ${EXIT.bug}  a bug in sluice`,
  ].join('\n');
}
