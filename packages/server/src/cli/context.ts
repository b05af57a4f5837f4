/** The output streams of a command, passed in so that tests can read them. */
export interface CommandContext {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
}
