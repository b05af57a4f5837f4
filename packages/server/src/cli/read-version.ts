import { readFileSync } from 'node:fs';

/** Returns the version of this package, whether it runs from sources or from the build. */
export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
