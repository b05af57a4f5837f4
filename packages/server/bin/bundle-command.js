// Puts the modules of the command, and those of the packages that it uses, into a few files. To find, read and link about 700 modules one by
// one took half of the processor time of a start. Threads load their own modules, as before.
import { readFile } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';

/** A database that users install if they want it. It has native code. */
const optionalPackages = ['@duckdb/node-api'];

/** Defines what modules of both kinds expect, at the start of each file. */
const banner = [
  "import { createRequire as createRequireOfBundle } from 'node:module';",
  "import { fileURLToPath as pathOfBundled } from 'node:url';",
  'const bundleUrl = import.meta.url;',
  'const require = createRequireOfBundle(bundleUrl);',
].join('\n');

/** Modules find their workers, kernels and data beside their own file, which is not the file of the bundle. */
function keepLocations(outFolder) {
  const urlOf = (path) =>
    `new URL(${JSON.stringify(relative(outFolder, path).split(sep).join('/'))}, bundleUrl)`;
  const load = async ({ path }) => {
    let contents = await readFile(path, 'utf8');
    contents = contents.replaceAll('import.meta.url', `${urlOf(path)}.href`);
    if (/\b__dirname\b/.test(contents))
      contents = `var __dirname = pathOfBundled(${urlOf(dirname(path))});\n${contents}`;
    if (/\b__filename\b/.test(contents))
      contents = `var __filename = pathOfBundled(${urlOf(path)});\n${contents}`;
    return { contents, loader: 'js' };
  };
  return {
    name: 'keep-locations',
    setup: (build) => void build.onLoad({ filter: /\.[cm]?js$/ }, load),
  };
}

export async function bundleCommand(esbuild, { root, entry, outFolder }) {
  await esbuild.build({
    // Each module begins with a comment that has its path from here.
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: outFolder,
    bundle: true,
    // Each command is a file of its own, which is read when the command runs.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: optionalPackages,
    banner: { js: banner },
    legalComments: 'inline',
    logLevel: 'warning',
    plugins: [keepLocations(outFolder)],
  });
}
