/** Bundles the web application into `dist`. `packages/server/bin/build.js` runs it. */
import { fileURLToPath } from 'node:url';
import { defaultClientConditions, defineConfig } from 'vite';
import { compressAssets } from './build/compress-assets.ts';
import { documentModules } from './build/document-modules.ts';
import { nameModules } from './build/name-modules.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const repository = fileURLToPath(new URL('../..', import.meta.url));

export default defineConfig({
  root: folder,
  // The client library is bundled from its sources, so that this build does not depend on another one.
  resolve: { conditions: ['source', ...defaultClientConditions] },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  plugins: [documentModules(repository), nameModules(repository), compressAssets()],
  build: {
    target: 'es2022',
    // The content security policy allows no inline scripts and no data URLs for fonts and styles.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
  },
});
