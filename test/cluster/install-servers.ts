/** Installs the servers that the tests start, if this process runs as root on Debian. Otherwise reports which packages are missing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findProgram } from './services/child.ts';
import { startSharedStore } from './services/start-s3.ts';

let stop: () => Promise<void> = async () => undefined;

export async function setup(project: TestProject): Promise<void> {
  install();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  stop = async () => rmSync(folder, { recursive: true, force: true });
  const { stop: stopStore, ...store } = await startSharedStore(folder);
  stop = async () => {
    await stopStore();
    rmSync(folder, { recursive: true, force: true });
  };
  project.provide('sharedStore', store);
}

export function teardown(): Promise<void> {
  return stop();
}

function install(): void {
  const missing = listMissing();
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && findProgram('apt-get', 'APT_GET') !== undefined) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const options = { env, stdio: 'inherit' as const };
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', ...missing], options);
  }
  const still = listMissing();
  if (still.length === 0) return;
  throw new Error(
    `these packages are missing: ${still.join(' ')}. Install them with apt-get, or the programs nats-server and minio with go install: docs/scale.md says how`,
  );
}

function listMissing(): string[] {
  const hasNats = findProgram('nats-server', 'NATS_SERVER') !== undefined;
  const hasStore =
    findProgram('minio', 'MINIO') !== undefined || findProgram('radosgw', 'RADOSGW') !== undefined;
  return [
    ...(hasNats ? [] : ['nats-server']),
    ...(hasStore ? [] : ['radosgw', 'ceph-mon', 'ceph-osd']),
  ];
}
