// Builds what is missing or older than its sources: TypeScript by project references, kernels by AssemblyScript.
//
// This file and `sluice.js` are JavaScript because they run before anything is built. Everything printed goes to stderr,
// so that a command's own output stays clean. Two builds at once wait for each other by way of a lock folder that names
// its owner; the lock of a process that died is taken over.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const serverFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(dirname(serverFolder));
const lockFolder = join(root, '.build-lock');
const stampFile = join(serverFolder, 'dist', '.stamp');
// Each file directly in this folder becomes one WASM module of its name; what they share is in folders below it.
const kernelFolder = join(serverFolder, 'src', 'kernels', 'assembly');
const kernelOutputFolder = join(serverFolder, 'dist', 'kernels');
const lockWaitMsMax = 300_000;
const lockPollMs = 100;

const sourceRoots = [
  'packages/protocol/src',
  'packages/server/src',
  'packages/client/src',
  'packages/web/src',
  'bench',
];
const configurationFiles = [
  'package-lock.json',
  'tsconfig.base.json',
  'tsconfig.json',
  'bench/tsconfig.json',
  'packages/server/bin/build.js',
  ...['protocol', 'server', 'client', 'web'].map((name) => `packages/${name}/tsconfig.json`),
];

function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'dist' || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) yield path;
  }
}

/** A digest of every source's path, size and time: it also notices files that went away. */
function sourceDigest() {
  const hash = createHash('sha256');
  const configuration = configurationFiles.map((file) => join(root, file)).filter(existsSync);
  const sources = sourceRoots.map((folder) => join(root, folder)).filter(existsSync);
  const files = [...configuration, ...sources.flatMap((folder) => [...walk(folder)])].sort();
  for (const file of files) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function isBuilt(digest) {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === digest;
}

function run(tool, args) {
  const entry = join(root, 'node_modules', tool);
  if (!existsSync(entry))
    throw new BuildFailure(`cannot find ${entry}: run \`npm ci\` in ${root} first`);
  const child = spawnSync(process.execPath, [entry, ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (child.status !== 0) throw new BuildFailure(`${tool} failed; the lines above say why`);
}

class BuildFailure extends Error {}

function ownerIsAlive() {
  try {
    process.kill(Number(readFileSync(join(lockFolder, 'pid'), 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

async function takeLock() {
  const startMs = performance.now();
  let waiting = false;
  let ownerless = 0;
  for (;;) {
    try {
      mkdirSync(lockFolder);
      writeFileSync(join(lockFolder, 'pid'), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    // An owner writes its pid just after making the folder, so only a lock seen dead several times in a row is dead.
    ownerless = ownerIsAlive() ? 0 : ownerless + 1;
    if (ownerless > 5) rmSync(lockFolder, { recursive: true, force: true });
    if (!waiting) process.stderr.write('sluice: another build is running, waiting for it\n');
    waiting = true;
    if (performance.now() - startMs > lockWaitMsMax) {
      throw new BuildFailure(
        `another build holds ${lockFolder} for too long; remove it if none is running`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
}

const kernelOptions = ['--runtime', 'stub', '--optimizeLevel', '3', '--noAssert', '--importMemory'];
const kernelFeatures = ['--enable', 'simd', '--enable', 'bulk-memory', '--use', 'abort='];

function compile() {
  run('typescript/bin/tsc', ['-b', 'tsconfig.json']);
  mkdirSync(kernelOutputFolder, { recursive: true });
  for (const file of readdirSync(kernelFolder).filter((name) => name.endsWith('.ts'))) {
    const output = join(kernelOutputFolder, file.replace(/\.ts$/, '.wasm'));
    run('assemblyscript/bin/asc.js', [
      join(kernelFolder, file),
      '--outFile',
      output,
      ...kernelOptions,
      ...kernelFeatures,
    ]);
  }
}

/** Builds if needed. Where there are no sources, as in an image, what is there is what runs. */
export async function build({ force = false } = {}) {
  if (!existsSync(kernelFolder)) return;
  if (!force && isBuilt(sourceDigest())) return;
  await takeLock();
  try {
    const digest = sourceDigest();
    if (!force && isBuilt(digest)) return;
    process.stderr.write('sluice: building\n');
    const startMs = performance.now();
    compile();
    writeFileSync(stampFile, digest);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    process.stderr.write(`sluice: built in ${seconds} s\n`);
  } finally {
    rmSync(lockFolder, { recursive: true, force: true });
  }
}

/** As `build`, but a failure ends the process with one line instead of a stack. */
export async function buildOrExit(options) {
  try {
    await build(options);
  } catch (error) {
    if (!(error instanceof BuildFailure)) throw error;
    process.stderr.write(`sluice: the build failed: ${error.message}\n`);
    process.exit(70);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildOrExit({ force: process.argv.includes('--force') });
}
