import type { Finding, RepositoryFile } from '../source-file.ts';

const dependencyCountMax = 24;

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface LockEntry {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/**
 * Checks that the lock file works with any registry and that runtime dependencies are JavaScript or WebAssembly only.
 */
export function findLockFaults({ path, text }: RepositoryFile): Finding[] {
  const addressLine = text.split('\n').findIndex((line) => /"resolved": *"https?:/.test(line));
  const address = {
    path,
    line: addressLine + 1,
    message: 'holds a registry address: install with the .npmrc of this repository',
  };
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry> };
  const faults = Object.entries(packages).flatMap(([name, entry]) => {
    const message = judgeEntry(name, entry);
    return message === undefined ? [] : [{ path, message }];
  });
  return addressLine < 0 ? faults : [address, ...faults];
}

function judgeEntry(name: string, entry: LockEntry): string | undefined {
  if (name.startsWith('node_modules/') && !entry.link && !entry.integrity?.startsWith('sha512-'))
    return `${name} has no checksum: install it again, so that the lock file has its checksum`;
  if (entry.dev || entry.devOptional) return undefined;
  if (entry.hasInstallScript)
    return `${name} needs an install script to run: choose another package`;
  if (entry.os || entry.cpu) return `${name} is for one platform only: choose JavaScript or WASM`;
  return undefined;
}

export function findDependencyFaults(manifests: readonly RepositoryFile[]): Finding[] {
  const names = new Set<string>();
  const findings: Finding[] = [];
  for (const { path, text } of manifests) {
    const { dependencies = {} } = JSON.parse(text) as Manifest;
    for (const [name, version] of Object.entries(dependencies)) {
      if (!name.startsWith('@sluice/')) names.add(name);
      if (!/^\d+\.\d+\.\d+$/.test(version))
        findings.push({ path, message: `${name} ${version}: write one exact version` });
    }
  }
  if (names.size > dependencyCountMax) {
    const message = `${names.size} runtime dependencies, ${dependencyCountMax} are allowed: drop one`;
    findings.push({ path: 'package.json', message });
  }
  return findings;
}
