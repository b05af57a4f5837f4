import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { build } from '../packages/server/bin/build.js';
import { type CommandResult, runCommand } from './command/run-command.ts';
import { repositoryRoot } from './repository-files.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** How the first command in a repository without a build went; `null` where there was a build already. */
    firstCommand: CommandResult | null;
  }
}

/**
 * Worker threads and spawned commands run the built files, so tests begin with a build that is up to date. Where nothing
 * is built yet it is made as a stranger would make it, by the first command, so that the test of just that need not
 * build everything a second time.
 */
export async function setup(project: TestProject): Promise<void> {
  const isBuilt = existsSync(join(repositoryRoot, 'packages/protocol/dist'));
  const result = isBuilt ? null : await runCommand('npx', ['sluice', '--version'], repositoryRoot);
  project.provide('firstCommand', result);
  await build();
}
