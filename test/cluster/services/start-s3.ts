/**
 * Object stores for tests. One is started for the whole run, because a Ceph cluster takes long to start; each test file
 * has a bucket of its own in it. A test that breaks the store starts a process of its own.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { systemClock } from '@sluice/base/clock';
import { inject } from 'vitest';
import { findFreePorts } from '../../find-free-ports.ts';
import { findProgram, startChild, waitUntil } from './child.ts';
import { type S3Process, startS3Process } from './s3-process.ts';
import { startCeph, startGateway } from './start-ceph.ts';

/** A real object store on the loopback interface with an empty bucket. */
export interface S3Server {
  readonly name: string;
  readonly endpoint: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The store that all test files share. */
export interface SharedStore {
  readonly name: 'MinIO' | 'Ceph RGW';
  readonly port: number;
  /** The path of the configuration of Ceph; empty for MinIO. */
  readonly config: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly sharedStore: SharedStore;
  }
}

const accessKeyId = 'sluice-test';
const secretAccessKey = 'sluice-test-secret';

/**
 * Starts MinIO, or Ceph with a gateway if MinIO is not installed.
 */
export async function startSharedStore(
  folder: string,
): Promise<SharedStore & { stop(): Promise<void> }> {
  const minio = findProgram('minio', 'MINIO');
  if (minio !== undefined) {
    const { port, stop } = await startMinio(minio, folder);
    return { name: 'MinIO', port, config: '', stop };
  }
  const ceph = await startCeph(folder, { accessKeyId, secretAccessKey });
  const gateway = await startGateway(ceph.config);
  const stop = async () => {
    await gateway.stop();
    await ceph.stop();
  };
  return { name: 'Ceph RGW', port: gateway.port, config: ceph.config, stop };
}

/** Returns the shared store with a new bucket. */
export async function useS3(): Promise<S3Server> {
  const { name, port } = inject('sharedStore');
  return withBucket(name, port);
}

/** Starts a process of the store that the caller may break, with a new bucket. */
export async function startOwnS3(folder: string): Promise<S3Server & S3Process> {
  const { name, config } = inject('sharedStore');
  const minio = findProgram('minio', 'MINIO') ?? 'minio';
  const own = name === 'MinIO' ? await startMinio(minio, folder) : await startGateway(config);
  return { ...own, ...(await withBucket(name, own.port)) };
}

async function withBucket(name: string, port: number): Promise<S3Server> {
  const endpoint = `http://127.0.0.1:${port}`;
  const bucket = `ledger-${randomUUID()}`;
  await createBucket(endpoint, bucket);
  return { name, port, endpoint, bucket, accessKeyId, secretAccessKey };
}

async function startMinio(minio: string, folder: string): Promise<S3Process> {
  mkdirSync(folder, { recursive: true });
  const [port = 0] = await findFreePorts(1);
  const env = {
    MINIO_ROOT_USER: accessKeyId,
    MINIO_ROOT_PASSWORD: secretAccessKey,
    MINIO_BROWSER: 'off',
  };
  const args = ['server', folder, '--address', `127.0.0.1:${port}`, '--quiet'];
  return startS3Process('MinIO', port, () => startChild(minio, args, { env }));
}

/** Creates a bucket by a request that is signed here, because the client under test never creates one. */
async function createBucket(endpoint: string, bucket: string): Promise<void> {
  const stamp = new Date(systemClock.unixMs()).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = stamp.slice(0, 8);
  const { host } = new URL(endpoint);
  const payload = 'UNSIGNED-PAYLOAD';
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const canonical = `PUT\n/${bucket}\n\nhost:${host}\nx-amz-content-sha256:${payload}\nx-amz-date:${stamp}\n\n${names}\n${payload}`;
  const scope = `${day}/us-east-1/s3/aws4_request`;
  const hash = createHash('sha256').update(canonical).digest('hex');
  const key = [day, 'us-east-1', 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key)
    .update(`AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${hash}`)
    .digest('hex');
  await waitUntil('the bucket is created', async () => {
    const response = await fetch(`${endpoint}/${bucket}`, {
      method: 'PUT',
      headers: {
        'x-amz-date': stamp,
        'x-amz-content-sha256': payload,
        authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
      },
    });
    return response.status === 200;
  });
}
