import { existsSync } from 'node:fs';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Returns the path of a browser. Throws if there is none, because tests that silently do not run hide mistakes. */
export function findBrowser(): string {
  const chosen = process.env['CHROMIUM'];
  const found = chosen ?? places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    'no browser found: install Debian’s chromium, or set CHROMIUM to the path of one',
  );
}
