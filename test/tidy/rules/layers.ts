import type { Finding, SourceFile } from '../source-file.ts';
import { isTestOnly } from '../source-file.ts';

/**
 * The order of the folders in `packages/server/src`, lowest first. ARCHITECTURE.md has the same table. Folders of one
 * row must not import each other. `cli` uses `app`, so each has its own row.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['storage'],
  ['object-store'],
  ['query', 'segment'],
  ['engine', 'chain'],
  ['dataset'],
  ['cluster'],
  ['ingest', 'stream'],
  ['http'],
  ['app'],
  ['cli'],
];

/** The packages of ours that a package may import. `bench` and `test` may import anything. */
const packageImports: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: [],
  arrow: ['base', 'kernels'],
  decode: ['base', 'kernels', 'protocol'],
  ledger: ['base', 'protocol'],
  kernels: ['base'],
  grpc: ['base'],
  source: ['base', 'protocol', 'ledger', 'kernels', 'grpc'],
  simulator: ['base', 'protocol', 'grpc'],
  server: [
    ...['arrow', 'base', 'protocol', 'ledger', 'kernels', 'source'],
    ...['client', 'decode', 'grpc', 'simulator', 'sync'],
  ],
  sync: ['arrow', 'base', 'kernels', 'protocol', 'client'],
  client: ['protocol'],
  web: ['client', 'protocol'],
};

/** Pure layers: files, sockets and processes are passed in, so that one seed reproduces a run. */
const coreFolders = new Set(['query', 'segment', 'engine', 'chain', 'dataset']);
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
  return `${folder} must not import ${specifier}: take functions that read and write as parameters`;
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
  if (ownRow < 0) return `${own} is no layer: add it to the table, or use an existing folder`;
  // A test may import folders of the same layer, such as a source and the simulator, but not higher layers.
  if (otherRow < ownRow || (otherRow === ownRow && isTestOnly(from))) return undefined;
  const way =
    otherRow === ownRow ? 'move what both need to a layer below' : 'take a function as a parameter';
  return `${own} must not import ${other}: ${way}`;
}

function rowOf(folder: string): number {
  return LAYERS.findIndex((row) => row.includes(folder));
}

/**
 * Returns the folder that determines the layer of a server source. A file outside the folders gets its own name, which
 * is no layer.
 */
function layerFolder(path: string): string | undefined {
  return /^packages\/server\/src\/([^/]+)/.exec(path)?.[1];
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}
