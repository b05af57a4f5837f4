import { existsSync } from 'node:fs';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export const missingBrowser =
  'no browser found: install Debian’s chromium, or set CHROMIUM to the path of one';

/** Returns the path of an installed browser; undefined when none was found. */
export function findBrowser(): string | undefined {
  return process.env['CHROMIUM'] ?? places.find((path) => existsSync(path));
}

/** Throws when no browser is found: skipping the tests silently would hide mistakes. */
export function requireBrowser(): string {
  const found = findBrowser();
  if (found === undefined) throw new Error(missingBrowser);
  return found;
}
