/** The exit codes. `docs/cli.md` has the same table. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  bug: 70,
} as const;

export function exitCodeHelp(): string {
  return [
    'Exit codes:',
    `  ${EXIT.ok}   done`,
    `  ${EXIT.failure}   the work could not be done: a file, a source, a disk; the message says which`,
    `  ${EXIT.usage}   the command line is wrong`,
    `  ${EXIT.bug}  a bug in sluice`,
  ].join('\n');
}
