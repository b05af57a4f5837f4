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
    `  ${EXIT.failure}   the command failed; the message gives the reason`,
    `  ${EXIT.usage}   the command line is wrong`,
    `  ${EXIT.bug}  a bug in sluice`,
  ].join('\n');
}
