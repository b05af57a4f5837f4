/** The files of the web application, as built in `packages/web`, kept in memory. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

export type AssetEncoding = 'br' | 'gzip' | 'identity';

export interface WebAsset {
  readonly type: string;
  readonly etag: string;
  readonly bodies: ReadonlyMap<AssetEncoding, Buffer>;
}

export interface WebAssets {
  /** The document of every page. */
  readonly page: WebAsset;
  /** Scripts, styles and images by file name. Their names contain a digest of their content. */
  readonly files: ReadonlyMap<string, WebAsset>;
}

/** The preferred encoding first. */
const suffixes: readonly (readonly [AssetEncoding, string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
  ['identity', ''],
];

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const missingPage = `<!doctype html><html lang="en"><title>Sluice</title><p>The web application is not built. Run <code>npm run build</code>.
The interface is described in <a href="/openapi.json">openapi.json</a>.</p></html>
`;

const buildFolder = new URL('../../../web/dist/', import.meta.url);

/** Reads the files of the built web application. If they are missing, the page says so, and the HTTP interface works anyway. */
export function readWebAssets(folder: URL = buildFolder): WebAssets {
  const page = readAsset(new URL('index.html', folder));
  const names = listFiles(new URL('assets/', folder)).filter((name) => extname(name) in types);
  const files = names.flatMap((name) => {
    const asset = readAsset(new URL(`assets/${name}`, folder));
    return asset === undefined ? [] : [[name, asset] as const];
  });
  return { page: page ?? buildMissingPage(), files: new Map(files) };
}

function readAsset(url: URL): WebAsset | undefined {
  const bodies = suffixes.flatMap(([encoding, suffix]) => {
    const body = readIfThere(new URL(`${url.href}${suffix}`));
    return body === undefined ? [] : [[encoding, body] as const];
  });
  const plain = bodies.find(([encoding]) => encoding === 'identity')?.[1];
  if (plain === undefined) return undefined;
  return { type: types[extname(url.pathname)] ?? '', etag: etagOf(plain), bodies: new Map(bodies) };
}

function buildMissingPage(): WebAsset {
  const body = Buffer.from(missingPage);
  const type = types['.html'] ?? '';
  return { type, etag: etagOf(body), bodies: new Map([['identity', body]]) };
}

function etagOf(body: Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

function readIfThere(url: URL): Buffer | undefined {
  try {
    return readFileSync(url);
  } catch {
    return undefined;
  }
}

function listFiles(folder: URL): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
