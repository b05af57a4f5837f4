#!/usr/bin/env node
// The command `sluice`: builds if the sources are newer than the build, then runs. It is committed as JavaScript,
// because npm links a bin only if its file exists during the installation, before anything could have been built.
import { existsSync } from 'node:fs';
import { buildOrExit } from './build.js';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`sluice: needs Node 20.19 or newer, this is ${process.versions.node}\n`);
  process.exit(1);
}

// A closed output pipe, as in `sluice … | head`, is not an error: the command exits normally.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
});

await buildOrExit();
const entry = new URL('../dist/bundle/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('sluice: there is neither a build nor sources to build it from\n');
  process.exit(70);
}
const { endOnFailedAssertion, main } = await import(entry.href);
endOnFailedAssertion((exitCode) => process.exit(exitCode));
process.exitCode = await main(process.argv.slice(2));
