/** Runs `take-screenshots.ts`, which needs the sources of the packages: `npm run screenshots`. */
import { runnerImport } from 'vite';
import { build } from '../../packages/server/bin/build.js';

const sources = {
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
};

await build();
const { module } = await runnerImport('./test/browser/take-screenshots.ts', sources);
await module.takeScreenshots(process.env['SCREENSHOTS'] ?? 'screenshots');
