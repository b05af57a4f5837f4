// Prints what the service runs with, as a CycloneDX list: every package that `packages/server` needs to run, directly or not, with
// the version, licence and checksum of the lock file. It reads that file alone, so it needs neither an installation nor a registry.
import { readFileSync } from 'node:fs';

const root = new URL('../../../', import.meta.url);
const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8'));

/** Where a package finds another: the nearest folder above it, as the runtime looks; undefined if it is optional and not there. */
function find(from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    const entry = packages[path];
    if (entry !== undefined) return entry.link === true ? entry.resolved : path;
    if (at === '') return undefined;
  }
}

const paths = new Set(['packages/server']);
for (const path of paths) {
  const { dependencies, optionalDependencies } = packages[path];
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = find(path, name);
    if (found !== undefined) paths.add(found);
  }
}

function describe(path) {
  const { version, license, integrity } = packages[path];
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const content = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: 'SHA-512', content }],
    licenses: [{ expression: license }],
  };
}

const own = packages['packages/server'];
const list = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'application', name: 'sluice', version: own.version } },
  components: [...paths]
    .filter((path) => path.includes('node_modules/'))
    .sort()
    .map(describe),
};
process.stdout.write(`${JSON.stringify(list, null, 2)}\n`);
