import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Compressing smaller files saves nothing. */
const compressedBytesMin = 512;
/** The highest level takes ten times as long and saves four percent. */
const brotliLevel = 9;

/** Writes `x.gz` and `x.br` beside every asset, so that the service need not compress assets for each request. */
export function compressAssets(): Plugin {
  let folder = '';
  return {
    name: 'compress-assets',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = join(root, build.outDir);
    },
    closeBundle: () => {
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (/\.(js|css|html|svg)$/.test(file)) compress(join(folder, file));
      }
    },
  };
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  if (bytes.length < compressedBytesMin) return;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliLevel };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
}
