// Builds outputs that are missing or older than their sources: TypeScript with project references, kernels with
// AssemblyScript, the web application with Vite, one bundle of the command with esbuild.
//
// This file and its siblings are JavaScript, because they run before anything is built. All output goes to stderr, so
// that it does not mix with the output of a command. Concurrent builds wait for each other with a lock folder.
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
import { bundleCommand } from './bundle-command.js';

const serverFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(dirname(serverFolder));
const lockFolder = join(root, '.build-lock');
const stampFile = join(serverFolder, 'dist', '.stamp');
const bundleFolder = join(serverFolder, 'dist', 'bundle');
const packageNames = [
  'base',
  'protocol',
  'ledger',
  'kernels',
  'grpc',
  'source',
  'arrow',
  'decode',
  'simulator',
  'sync',
  'server',
  'client',
];
// Each file directly in a folder `assembly` becomes one WebAssembly module of the same name. Shared code is in the
// folders below it and in `base`. `layout` has the constants that kernels share with TypeScript.
const kernelFolders = [
  ['kernels', '.'],
  ['simulator', 'kernels'],
].map(([name, folder]) => ({
  sources: join(root, 'packages', name, 'src', folder),
  assembly: join(root, 'packages', name, 'src', folder, 'assembly'),
  output: join(root, 'packages', name, 'dist', folder),
}));
const sharedKernelFolder = join(root, 'packages', 'base', 'src', 'assembly');
const kernelStampFile = join(root, 'packages', 'kernels', 'dist', '.stamp');
const webFolder = join(root, 'packages', 'web');
const webStampFile = join(webFolder, 'dist', '.stamp');
const lockWaitMsMax = 300_000;
const lockPollMs = 100;

// The source and output folder of each TypeScript project.
const projects = [
  ...packageNames.map((name) => ({
    sources: join(root, 'packages', name, 'src'),
    output: join(root, 'packages', name, 'dist'),
  })),
  { sources: join(root, 'bench'), output: join(root, 'bench', 'dist') },
];
const toolFiles = [
  'package-lock.json',
  'packages/server/bin/build.js',
  'packages/server/bin/build-lock.js',
  'packages/server/bin/bundle-command.js',
];
const configurationFiles = [
  ...toolFiles,
  'tsconfig.base.json',
  'tsconfig.json',
  'bench/tsconfig.json',
  ...packageNames.map((name) => `packages/${name}/tsconfig.json`),
];
// Everything that is bundled into the web application.
const webSources = ['packages/web', 'packages/client/src', 'packages/protocol/src', 'docs'];
const webPages = ['README.md', 'ARCHITECTURE.md'];

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

/** Returns a digest of path, size and modification time of every file, so that deleted files are noticed too. */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files.filter((path) => existsSync(path)).sort()) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(root, file)}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function walkWebSources() {
  const files = webSources.flatMap((folder) => [
    ...walk(join(root, folder), ['dist', 'node_modules', 'testing']),
  ]);
  const pages = webPages.map((file) => join(root, file));
  return [...files.filter((path) => !path.endsWith('.test.ts')), ...pages];
}

function sourceDigest() {
  const configuration = configurationFiles.map((file) => join(root, file));
  const sources = projects.flatMap((project) => walkSources(project.sources));
  return digestOf([...new Set([...configuration, ...sources, ...walkWebSources()])]);
}

function hasStamp(file, digest) {
  return existsSync(file) && readFileSync(file, 'utf8') === digest;
}

function isBuilt(digest) {
  const isThere = ({ sources, output }) => existsSync(output) || !existsSync(sources);
  const areThere = [webStampFile, bundleFolder].every((path) => existsSync(path));
  return areThere && projects.every(isThere) && hasStamp(stampFile, digest);
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
      // A test runner sets another value, with which Vite would build for development.
      env: { ...process.env, NODE_ENV: 'production' },
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

function kernelNames({ assembly }) {
  return readdirSync(assembly)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.slice(0, -'.ts'.length));
}

async function compileKernels() {
  const tools = toolFiles.map((file) => join(root, file));
  const folders = [sharedKernelFolder, ...kernelFolders.map(({ sources }) => sources)];
  const digest = digestOf([...tools, ...folders.flatMap(walkSources)]);
  if (hasStamp(kernelStampFile, digest)) return;
  for (const { output } of kernelFolders) mkdirSync(output, { recursive: true });
  rmSync(kernelStampFile, { force: true });
  // Compiles the kernels in this process one after another, because loading the compiler takes as long as compiling a
  // kernel.
  const { main } = await import(pathToFileURL(find('assemblyscript/dist/asc.js')).href);
  const kernels = kernelFolders.flatMap((folder) =>
    kernelNames(folder).map((name) => ({ ...folder, name })),
  );
  for (const [i, { assembly, output, name }] of kernels.entries()) {
    const files = [relative(root, join(assembly, `${name}.ts`)), '--baseDir', root];
    const target = ['--outFile', relative(root, join(output, `${name}.wasm`))];
    const args = [...files, ...target, ...kernelOptions, ...kernelFeatures];
    report(`compiling kernel ${i + 1} of ${kernels.length}: ${name}`);
    const { error } = await main(args, { stdout: process.stderr, stderr: process.stderr });
    if (error !== null)
      throw new BuildFailure(`the kernel ${name} failed; the lines above say why`);
  }
  writeFileSync(kernelStampFile, digest);
}

async function bundleWeb() {
  const tools = toolFiles.map((file) => join(root, file));
  const digest = digestOf([...tools, ...walkWebSources()]);
  if (hasStamp(webStampFile, digest)) return;
  rmSync(webStampFile, { force: true });
  await run('vite/bin/vite.js', ['build', relative(root, webFolder), '--logLevel', 'warn']);
  report('bundled the web application');
  writeFileSync(webStampFile, digest);
}

/** Removes the output of deleted sources. Neither compiler does that, and it could still be imported. */
function prune() {
  for (const { sources, output } of projects) {
    for (const path of walk(output)) {
      const name = relative(output, path);
      const source = name.replace(/\.(d\.ts|js|js\.map)$/, '.ts');
      if (source !== name && !existsSync(join(sources, source))) rmSync(path);
    }
  }
  for (const folder of kernelFolders) {
    const kernels = new Set(kernelNames(folder).map((name) => `${name}.wasm`));
    for (const path of walk(folder.output)) {
      if (path.endsWith('.wasm') && !kernels.has(relative(folder.output, path))) rmSync(path);
    }
  }
}

async function bundle() {
  rmSync(bundleFolder, { recursive: true, force: true });
  const esbuild = await import(pathToFileURL(find('esbuild/lib/main.js')).href);
  const entry = join(serverFolder, 'dist', 'cli', 'main.js');
  try {
    await bundleCommand(esbuild, { root, entry, outFolder: bundleFolder });
  } finally {
    // It is a process, which would otherwise run as long as the command.
    await esbuild.stop();
  }
}

/** A first build takes a minute or more, so each part reports its progress. */
function report(text) {
  process.stderr.write(`sluice: ${text}\n`);
}

async function compile() {
  const steps = [
    run('typescript/bin/tsc', ['-b', 'tsconfig.json']).then(() => report('compiled TypeScript')),
    compileKernels(),
    bundleWeb(),
  ];
  // All are awaited, so that no compiler still writes when the lock is released.
  const failed = (await Promise.allSettled(steps)).find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  prune();
  await bundle();
}

async function buildLocked(force) {
  const digest = sourceDigest();
  if (!force && isBuilt(digest)) return;
  // The stamp is removed first, so that a build that fails or is killed does not look complete.
  rmSync(stampFile, { force: true });
  const isFirst = !existsSync(kernelStampFile);
  report(isFirst ? 'building for the first time, which takes a minute or two' : 'building');
  const startMs = performance.now();
  await compile();
  writeFileSync(stampFile, digest);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  report(`built in ${seconds} s`);
}

/** Builds if necessary. Without sources, as in an image, the existing build is used. */
export async function build({ force = false } = {}) {
  if (!existsSync(join(serverFolder, 'src'))) return;
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

/** Like `build`, but a failure ends the process with one line instead of a stack trace. */
export async function buildOrExit(options) {
  try {
    await build(options);
  } catch (error) {
    const isExpected = error instanceof BuildFailure || error.syscall !== undefined;
    if (!isExpected) throw error;
    const hint = ['EACCES', 'EPERM', 'EROFS'].includes(error.code)
      ? `; the build is older than the sources: run \`npm run build\` as a user who may write to ${root}`
      : '';
    process.stderr.write(`sluice: the build failed: ${error.message}${hint}\n`);
    process.exit(70);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildOrExit({ force: process.argv.includes('--force') });
}
