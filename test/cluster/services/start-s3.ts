import { createHash, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePorts, findProgram, startChild, waitUntil } from './child.ts';

/** A real object store on the loopback interface with an empty bucket. */
export interface S3Server {
  readonly name: string;
  readonly endpoint: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  stop(): Promise<void>;
}

const accessKeyId = 'sluice-test';
const secretAccessKey = 'sluice-test-secret';

/** Starts MinIO. Returns undefined, so that tests can say so, if it is not installed. */
export async function startS3(folder: string): Promise<S3Server | undefined> {
  const minio = findProgram('minio', 'MINIO');
  if (minio === undefined) return undefined;
  const [port = 0] = await findFreePorts(1);
  const bucket = 'ledger';
  mkdirSync(join(folder, bucket), { recursive: true });
  const endpoint = `http://127.0.0.1:${port}`;
  const child = startChild(minio, ['server', folder, '--address', `127.0.0.1:${port}`, '--quiet'], {
    env: {
      MINIO_ROOT_USER: accessKeyId,
      MINIO_ROOT_PASSWORD: secretAccessKey,
      MINIO_BROWSER: 'off',
    },
  });
  await waitUntil('MinIO starts', async () => {
    const response = await fetch(`${endpoint}/minio/health/live`).catch(() => undefined);
    return response?.status === 200;
  });
  await createBucket(endpoint, bucket);
  const stop = () => child.stop('SIGKILL');
  return { name: 'MinIO', endpoint, port, bucket, accessKeyId, secretAccessKey, stop };
}

/** Creates a bucket by a request that is signed here, because the client under test never creates one. */
async function createBucket(endpoint: string, bucket: string): Promise<void> {
  const stamp = `${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`;
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
