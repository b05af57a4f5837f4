// Builds what is missing or older than its sources: TypeScript by project references, kernels by AssemblyScript.
//
// This file and its siblings are JavaScript because they run before anything is built. Everything printed goes to
// stderr, so that a command's own output stays clean. Two builds at once wait for each other by way of a lock folder.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { takeLock } from './build-lock.js';

const serverFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(dirname(serverFolder));
const lockFolder = join(root, '.build-lock');
const stampFile = join(serverFolder, 'dist', '.stamp');
// Each file directly in this folder becomes one WASM module of its name; what they share is in folders below it.
const kernelFolder = join(serverFolder, 'src', 'kernels', 'assembly');
const kernelOutputFolder = join(serverFolder, 'dist', 'kernels');
const kernelStampFile = join(kernelOutputFolder, '.stamp');
const lockWaitMsMax = 300_000;
const lockPollMs = 100;

// Where each TypeScript project keeps its sources, and where its build goes.
const projects = [
  ...['protocol', 'server', 'client', 'web'].map((name) => ({
    sources: join(root, 'packages', name, 'src'),
    output: join(root, 'packages', name, 'dist'),
  })),
  { sources: join(root, 'bench'), output: join(root, 'bench', 'dist') },
];
const toolFiles = [
  'package-lock.json',
  'packages/server/bin/build.js',
  'packages/server/bin/build-lock.js',
];
const configurationFiles = [
  ...toolFiles,
  'tsconfig.base.json',
  'tsconfig.json',
  'bench/tsconfig.json',
  ...['protocol', 'server', 'client', 'web'].map((name) => `packages/${name}/tsconfig.json`),
];

class BuildFailure extends Error {}

function* walk(folder, skipped = []) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (skipped.includes(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path, skipped);
    else yield path;
  }
}

function walkSources(folder) {
  return [...walk(folder, ['dist', 'node_modules'])].filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  );
}

/** A digest of every file's path, size and time: it also notices files that went away. */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files.filter((path) => existsSync(path)).sort()) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(root, file)}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function sourceDigest() {
  const configuration = configurationFiles.map((file) => join(root, file));
  return digestOf([...configuration, ...projects.flatMap(({ sources }) => walkSources(sources))]);
}

function hasStamp(file, digest) {
  return existsSync(file) && readFileSync(file, 'utf8') === digest;
}

function isBuilt(digest) {
  const isThere = ({ sources, output }) => existsSync(output) || !existsSync(sources);
  return projects.every(isThere) && hasStamp(stampFile, digest);
}

function find(tool) {
  const entry = join(root, 'node_modules', tool);
  if (!existsSync(entry))
    throw new BuildFailure(`cannot find ${entry}: run \`npm ci\` in ${root} first`);
  return entry;
}

function run(tool, args) {
  const entry = find(tool);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry, ...args], {
      cwd: root,
      stdio: ['ignore', process.stderr, process.stderr],
    });
    child.on('error', reject);
    child.on('exit', (status) => {
      if (status === 0) resolve();
      else reject(new BuildFailure(`${tool} failed; the lines above say why`));
    });
  });
}

const kernelOptions = ['--runtime', 'stub', '--optimizeLevel', '3', '--noAssert', '--importMemory'];
const kernelFeatures = ['--enable', 'simd', '--enable', 'bulk-memory', '--use', 'abort='];

function kernelNames() {
  return readdirSync(kernelFolder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.slice(0, -'.ts'.length));
}

async function compileKernels() {
  const tools = toolFiles.map((file) => join(root, file));
  const digest = digestOf([...tools, ...walkSources(kernelFolder)]);
  if (hasStamp(kernelStampFile, digest)) return;
  mkdirSync(kernelOutputFolder, { recursive: true });
  rmSync(kernelStampFile, { force: true });
  // In this process, one after another: loading the compiler takes as long as compiling a kernel.
  const { main } = await import(pathToFileURL(find('assemblyscript/dist/asc.js')).href);
  for (const name of kernelNames()) {
    const files = [relative(root, join(kernelFolder, `${name}.ts`)), '--baseDir', root];
    const output = ['--outFile', relative(root, join(kernelOutputFolder, `${name}.wasm`))];
    const args = [...files, ...output, ...kernelOptions, ...kernelFeatures];
    const { error } = await main(args, { stdout: process.stderr, stderr: process.stderr });
    if (error !== null)
      throw new BuildFailure(`the kernel ${name} failed; the lines above say why`);
  }
  writeFileSync(kernelStampFile, digest);
}

/** Removes what earlier builds made from sources that are gone: neither compiler does, and it would still be importable. */
function prune() {
  for (const { sources, output } of projects) {
    for (const path of walk(output)) {
      const name = relative(output, path);
      const source = name.replace(/\.(d\.ts|js|js\.map)$/, '.ts');
      if (source !== name && !existsSync(join(sources, source))) rmSync(path);
    }
  }
  const kernels = new Set(kernelNames().map((name) => `${name}.wasm`));
  for (const path of walk(kernelOutputFolder)) {
    if (path.endsWith('.wasm') && !kernels.has(relative(kernelOutputFolder, path))) rmSync(path);
  }
}

async function compile() {
  const steps = [run('typescript/bin/tsc', ['-b', 'tsconfig.json']), compileKernels()];
  // Both are awaited to their end, so that no compiler still writes when the lock is given back.
  const failed = (await Promise.allSettled(steps)).find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  prune();
}

async function buildLocked(force) {
  const digest = sourceDigest();
  if (!force && isBuilt(digest)) return;
  // From here on the output is of no known sources: a build that fails or is killed must not look like the one before.
  rmSync(stampFile, { force: true });
  process.stderr.write('sluice: building\n');
  const startMs = performance.now();
  await compile();
  writeFileSync(stampFile, digest);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stderr.write(`sluice: built in ${seconds} s\n`);
}

/** Builds if needed. Where there are no sources, as in an image, what is there is what runs. */
export async function build({ force = false } = {}) {
  if (!existsSync(kernelFolder)) return;
  if (!force && isBuilt(sourceDigest())) return;
  const release = await takeLock(lockFolder, {
    waitMsMax: lockWaitMsMax,
    pollMs: lockPollMs,
    onWait: () => process.stderr.write('sluice: another build is running, waiting for it\n'),
  });
  if (release === undefined) {
    const seconds = lockWaitMsMax / 1000;
    throw new BuildFailure(
      `another build has held ${lockFolder} for ${seconds} s; remove it if none is running`,
    );
  }
  try {
    await buildLocked(force);
  } finally {
    release();
  }
}

/** As `build`, but a failure ends the process with one line instead of a stack. */
export async function buildOrExit(options) {
  try {
    await build(options);
  } catch (error) {
    const isExpected = error instanceof BuildFailure || error.syscall !== undefined;
    if (!isExpected) throw error;
    const hint = ['EACCES', 'EPERM', 'EROFS'].includes(error.code)
      ? `; what is built is older than the sources: run \`npm run build\` as one who may write to ${root}`
      : '';
    process.stderr.write(`sluice: the build failed: ${error.message}${hint}\n`);
    process.exit(70);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildOrExit({ force: process.argv.includes('--force') });
}
