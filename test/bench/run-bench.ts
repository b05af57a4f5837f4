import { join } from 'node:path';
import { type CommandResult, runCommand } from '../command/run-command.ts';
import { repositoryRoot } from '../repository-files.ts';

/** Runs the built benchmarks. Their files go to `folder`. */
export async function runBench(folder: string, args: readonly string[]): Promise<CommandResult> {
  const run = join(repositoryRoot, 'bench', 'dist', 'run.js');
  return await runCommand('env', [`TMPDIR=${folder}`, process.execPath, run, ...args], folder);
}
