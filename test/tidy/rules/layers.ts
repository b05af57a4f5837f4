import type { Finding, SourceFile } from '../source-file.ts';
import { isTestOnly } from '../source-file.ts';

/**
 * The order of the folders in `packages/server/src`, lowest first; ARCHITECTURE.md has the same table. Folders of one row
 * do not know each other. `kernels` stands on `base`, and `cli` starts what `app` puts together, so each has its own row.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['base'],
  ['kernels'],
  ['ledger', 'storage'],
  ['query', 'source', 'segment', 'simulator'],
  ['engine', 'chain'],
  ['dataset'],
  ['ingest', 'stream'],
  ['http'],
  ['app'],
  ['cli'],
];

/** What a package may import of ours. `bench` and `test` may import anything. */
const packageImports: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  server: ['protocol'],
  client: ['protocol'],
  web: ['client'],
};

/** Decides things, and is given files, sockets and processes by others, so that one seed replays a run. */
const coreFolders = new Set(['ledger', 'query', 'segment', 'engine', 'chain', 'dataset']);
const worldModules =
  /^(node:)?(fs|fs\/promises|net|http|https|http2|tls|dgram|dns|child_process)$|^(undici|ws|fastify)$/;

export function findLayerBreaches(files: readonly SourceFile[]): Finding[] {
  return files.flatMap((file) =>
    file.imports.flatMap(({ specifier, target, line }) => {
      const message =
        target === undefined
          ? judgeOutside(file.path, specifier)
          : (judgeTestCode(file.path, target) ??
            judgePackages(file.path, target) ??
            judgeLayers(file.path, target));
      return message === undefined ? [] : [{ path: file.path, line, message }];
    }),
  );
}

function judgeOutside(from: string, specifier: string): string | undefined {
  const folder = layerFolder(from);
  if (folder === undefined || isTestOnly(from) || !coreFolders.has(folder)) return undefined;
  if (!worldModules.test(specifier)) return undefined;
  return `${folder} must not import ${specifier}: take what reads and writes in modules`;
}

function judgeTestCode(from: string, target: string): string | undefined {
  if (isTestOnly(from) || !isTestOnly(target)) return undefined;
  return `${target} is for tests only and not built: move what you need out of it`;
}

function judgePackages(from: string, target: string): string | undefined {
  const own = packageOf(from);
  const other = packageOf(target);
  if (own === undefined || own === other || isTestOnly(from)) return undefined;
  if (other === undefined)
    return `packages/${own} must not import ${target}: move it into a package`;
  if (packageImports[own]?.includes(other)) return undefined;
  const allowed = packageImports[own]?.join(', ') || 'no other package';
  return `packages/${own} must not import packages/${other}: it may import ${allowed}`;
}

function judgeLayers(from: string, target: string): string | undefined {
  const own = layerFolder(from);
  const other = layerFolder(target);
  if (own === undefined || other === undefined || own === other) return undefined;
  const ownRow = rowOf(own);
  const otherRow = rowOf(other);
  if (ownRow < 0) return `${own} is no layer: add it to the table, or use a folder that is there`;
  // A test may compare neighbours, such as a source with the simulator; what is above stays out of its sight.
  if (otherRow < ownRow || (otherRow === ownRow && isTestOnly(from))) return undefined;
  const way =
    otherRow === ownRow ? 'move what both need to a layer below' : 'take a function in modules';
  return `${own} must not import ${other}: ${way}`;
}

function rowOf(folder: string): number {
  return LAYERS.findIndex((row) => row.includes(folder));
}

/** The folder that decides about a server source; a file beside the folders is a layer of its own name, which none is. */
function layerFolder(path: string): string | undefined {
  return /^packages\/server\/src\/([^/]+)/.exec(path)?.[1];
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}
