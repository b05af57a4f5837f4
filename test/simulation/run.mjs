/** Builds the service and the simulation and runs it: `npm run simulate`. */
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build as bundle } from 'vite';
import { build } from '../../packages/server/bin/build.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const output = join(root, 'node_modules/.simulation');

/** Only the simulation is bundled. Node loads the build of the packages by itself. */
const useBuild = {
  name: 'use-build',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || source.startsWith('node:')) return null;
    if (!source.startsWith('.')) return { id: source, external: true };
    const path = resolve(dirname(importer), source);
    if (!path.startsWith(join(root, 'packages')) || path.includes('/testing/')) return null;
    return { id: path.replace('/src/', '/dist/').replace(/\.ts$/, '.js'), external: 'absolute' };
  },
};

await build();
await bundle({
  configFile: false,
  root,
  logLevel: 'warn',
  plugins: [useBuild],
  build: {
    ssr: join(here, 'simulate.ts'),
    outDir: output,
    emptyOutDir: true,
    minify: false,
    sourcemap: 'inline',
    rollupOptions: { output: { entryFileNames: 'simulate.mjs' } },
  },
});
const { simulate } = await import(pathToFileURL(join(output, 'simulate.mjs')).href);
process.exitCode = await simulate(process.argv.slice(2), (line) =>
  process.stdout.write(`${line}\n`),
);
