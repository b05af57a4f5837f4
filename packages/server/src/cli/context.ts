/** Where a command writes, handed in so that tests can read it. */
export interface CommandContext {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
}
