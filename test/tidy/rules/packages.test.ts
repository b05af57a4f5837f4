import { expect, test } from 'vitest';
import { findDependencyFaults, findLockFaults } from './packages.ts';

function judgeLock(packages: object): string[] {
  const text = JSON.stringify({ packages }, null, 2);
  return findLockFaults({ path: 'package-lock.json', text }).map(({ message }) => message);
}

function manifest(dependencies: object) {
  return { path: 'packages/server/package.json', text: JSON.stringify({ dependencies }) };
}

const integrity = 'sha512-AAAA';

test('default: development dependencies have no restrictions', () => {
  const dev = { integrity, dev: true, hasInstallScript: true, os: ['linux'] };
  const packages = { 'node_modules/a': dev, 'node_modules/b': { integrity, version: '1.0.0' } };
  expect(judgeLock(packages)).toEqual([]);
});

test('error: a registry address, an install script or a platform is found', () => {
  expect(judgeLock({ a: { resolved: 'https://registry.example/a.tgz' } })).toEqual([
    'holds a registry address: install with the .npmrc of this repository',
  ]);
  expect(judgeLock({ 'node_modules/a': { integrity, hasInstallScript: true } })).toHaveLength(1);
  expect(judgeLock({ 'node_modules/a': { integrity, cpu: ['x64'] } })).toHaveLength(1);
});

test('error: a package without a checksum is found, including development dependencies but not our own packages', () => {
  expect(judgeLock({ 'node_modules/a': { dev: true } })).toHaveLength(1);
  expect(judgeLock({ 'node_modules/a': { integrity: 'sha1-AAAA' } })).toHaveLength(1);
  expect(
    judgeLock({ 'node_modules/@sluice/server': { link: true }, 'packages/server': {} }),
  ).toEqual([]);
});

test('limit: at most 24 direct runtime dependencies, counted over all packages', () => {
  const names = Array.from({ length: 24 }, (_, i) => [`package-${i}`, '1.0.0']);
  const full = manifest(Object.fromEntries(names));
  expect(findDependencyFaults([full, manifest({ 'package-0': '1.0.0' })])).toEqual([]);
  expect(findDependencyFaults([full, manifest({ another: '1.0.0' })])).toHaveLength(1);
});

test('error: a version range is found', () => {
  expect(findDependencyFaults([manifest({ ws: '^8.0.0' })])).toHaveLength(1);
});
