import { createHash, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { systemClock } from '../../../packages/server/src/base/clock.ts';
import { findFreePorts, findProgram, startChild, waitUntil } from './child.ts';
import { type StartedS3, startCeph } from './start-ceph.ts';

/** A real object store on the loopback interface with an empty bucket. */
export interface S3Server {
  readonly name: string;
  readonly endpoint: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Sends a signal to the process that handles requests. */
  signal(signal: NodeJS.Signals): void;
  /** Restarts that process after it was killed. */
  restart(): void;
  stop(): Promise<void>;
}

const accessKeyId = 'sluice-test';
const secretAccessKey = 'sluice-test-secret';

/**
 * Starts MinIO, or the gateway of Ceph if MinIO is not installed. Returns undefined if neither is installed, so that tests can report it.
 */
export async function startS3(folder: string): Promise<S3Server | undefined> {
  const minio = findProgram('minio', 'MINIO');
  const radosgw = findProgram('radosgw', 'RADOSGW');
  if (minio === undefined && radosgw === undefined) return undefined;
  const bucket = 'ledger';
  mkdirSync(folder, { recursive: true });
  const server =
    minio !== undefined
      ? await startMinio(minio, folder)
      : await startCeph(folder, { accessKeyId, secretAccessKey });
  const endpoint = `http://127.0.0.1:${server.port}`;
  await createBucket(endpoint, bucket);
  return { ...server, endpoint, bucket, accessKeyId, secretAccessKey };
}

async function startMinio(minio: string, folder: string): Promise<StartedS3> {
  const [port = 0] = await findFreePorts(1);
  const env = {
    MINIO_ROOT_USER: accessKeyId,
    MINIO_ROOT_PASSWORD: secretAccessKey,
    MINIO_BROWSER: 'off',
  };
  const args = ['server', folder, '--address', `127.0.0.1:${port}`, '--quiet'];
  const start = () => startChild(minio, args, { env });
  let child = start();
  await waitUntil('MinIO starts', async () => {
    const url = `http://127.0.0.1:${port}/minio/health/live`;
    return (await fetch(url).catch(() => undefined))?.status === 200;
  });
  return {
    name: 'MinIO',
    port,
    signal: (signal) => child.process.kill(signal),
    restart: () => {
      child = start();
    },
    stop: () => child.stop('SIGKILL'),
  };
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
    return response.status === 200 || response.status === 409;
  });
}
