import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { build } from '../packages/server/bin/build.js';
import { type CommandResult, runCommand } from './command/run-command.ts';
import { repositoryRoot } from './repository-files.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The result of the first command in a repository without a build, or `null` if there was a build. */
    firstCommand: CommandResult | null;
  }
}

/**
 * Builds before the tests, because worker threads and spawned commands run the built files. Without an existing build
 * it runs the first command as a new user would, so that the test of that case need not build everything again.
 */
export async function setup(project: TestProject): Promise<void> {
  const isBuilt = existsSync(join(repositoryRoot, 'packages/base/dist'));
  const result = isBuilt ? null : await runCommand('npx', ['sluice', '--version'], repositoryRoot);
  project.provide('firstCommand', result);
  await build();
}
