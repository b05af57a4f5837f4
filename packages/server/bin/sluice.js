#!/usr/bin/env node
// The command `sluice`: builds when sources are newer than the build, then runs. It is committed as JavaScript because
// npm links a bin only if its file exists when packages are installed, before anything could have been built.
import { buildOrExit } from './build.js';

await buildOrExit();
const { main } = await import('../dist/cli/main.js');
process.exitCode = await main(process.argv.slice(2));
