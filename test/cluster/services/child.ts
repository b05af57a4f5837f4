import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A program that a test has started, with the end of its output. */
export interface Child {
  readonly process: ChildProcess;
  readonly output: () => string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const outputLengthMax = 20_000;

export function startChild(
  command: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Child {
  const env = { ...process.env, ...options.env };
  const child = spawn(command, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-outputLengthMax);
    });
  }
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    process: child,
    output: () => output,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}

/** Returns the path of a program: from a variable, from the PATH, or from the folder of `go install`. */
export function findProgram(name: string, variable: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined) return named;
  const home = process.env['HOME'] ?? '';
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    join(home, 'go/bin'),
    '/usr/sbin',
  ];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** This limit only ends a test that hangs. A working test waits for less time, even on a slow and busy machine. */
const waitMsMax = 180_000;

/** Waits until a condition holds, which is checked every 50 ms. */
export async function waitUntil(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  msMax = waitMsMax,
): Promise<void> {
  const deadline = performance.now() + msMax;
  while (performance.now() < deadline) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} did not happen within ${msMax} ms`);
}

/** Returns the processor time that a process has used, in milliseconds. Linux counts it in hundredths of a second. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
