import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { examineConfig } from '../app/config/load-config.ts';
import type { StoreConfig } from '../app/config/remote-schema.ts';
import type { Bucket } from '../cluster/bucket.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import { nodeFs } from '../storage/node-fs.ts';

export interface BackupLocation {
  readonly store: ObjectStore;
  openBucket(dataset: string): Promise<Bucket>;
  close(): Promise<void>;
}

/** A transfer reads whole segments and caches none of them. The cache has the smallest size that is allowed. */
const cacheBytesMax = 64 << 20;
const requestCountMax = 8;

/** Opens a folder, or a part of an object store that is given as `s3://BUCKET/PREFIX`. */
export async function openLocation(target: string): Promise<BackupLocation> {
  const store = await openStoreAt(target);
  return locationOf(store);
}

export async function openConfiguredStore(config: StoreConfig): Promise<BackupLocation> {
  return locationOf(await openS3(config));
}

async function locationOf(store: ObjectStore): Promise<BackupLocation> {
  const { openBucket } = await import('../cluster/bucket.ts');
  const cacheFolder = await mkdtemp(join(tmpdir(), 'sluice-transfer-'));
  const opened: Bucket[] = [];
  return {
    store,
    openBucket: async (dataset) => {
      const folder = join(cacheFolder, dataset);
      const options = { dataset, cacheFolder: folder, cacheBytesMax, requestCountMax };
      const bucket = await openBucket(options, { store, clock: systemClock, fs: nodeFs });
      opened.push(bucket);
      return bucket;
    },
    close: async () => {
      for (const { cache } of opened) await cache.close();
      await store.close();
      await rm(cacheFolder, { recursive: true, force: true });
    },
  };
}

/** Returns whether a location is an address such as s3://BUCKET; otherwise it is a path. */
export function isAddress(target: string): boolean {
  return /^\w+:\/\//.test(target);
}

async function canBeFolder(path: string): Promise<boolean> {
  if (path === '') return false;
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? true;
}

async function openStoreAt(target: string): Promise<ObjectStore> {
  const parts = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(target);
  if (parts === null) {
    // Other schemes would become the names of folders.
    if (isAddress(target) || !(await canBeFolder(target)))
      throw new CodedError('backup-target-unknown', { target });
    const { FolderStore } = await import('../object-store/folder-store.ts');
    return new FolderStore(target, nodeFs);
  }
  const [, bucket, prefix = ''] = parts;
  const { env } = process;
  const endpoint = env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'];
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'];
  const store = {
    kind: 's3',
    bucket,
    prefix,
    ...(endpoint === undefined ? {} : { endpoint: endpoint.replace(/\/$/, '') }),
    ...(region === undefined ? {} : { region }),
  };
  const { faults, config } = examineConfig({ overrides: { store } }, env);
  if (faults.length > 0 || config.store === undefined)
    throw faults[0] ?? new CodedError('backup-target-unknown', { target });
  return openS3(config.store);
}

async function openS3(config: StoreConfig): Promise<ObjectStore> {
  const { openStore } = await import('../app/remote/open-store.ts');
  const random = Random.fromSeed(randomBytes(4).readUInt32LE());
  return openStore(config, {
    clock: systemClock,
    environment: process.env,
    random: () => random.unit(),
  });
}
