import { existsSync } from 'node:fs';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const missingBrowser =
  'no browser found: install Debian’s chromium, or set CHROMIUM to the path of one';

/** Returns the path of an installed browser. Throws an error if none is installed: skipped tests would be reported as a success. */
export function requireBrowser(): string {
  const found = process.env['CHROMIUM'] ?? places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(missingBrowser);
  return found;
}
