import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findCredentials } from './credentials.ts';
import { parseListing } from './parse-listing.ts';
import type { Credentials, Environment } from './role-credentials.ts';

const clock = { unixMs: () => 1_000_000 };
const find = (configured: Partial<Credentials>, environment: Environment) =>
  findCredentials(configured, environment, clock)();

test('default: the configuration takes precedence over the environment, and the environment over the shared file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-credentials-'));
  const file = join(folder, 'credentials');
  writeFileSync(
    file,
    '[default]\naws_access_key_id = d\naws_secret_access_key = ds\n\n[ other ]\naws_access_key_id=o\naws_secret_access_key=os\naws_session_token=ot\n',
  );
  const environment = { AWS_SHARED_CREDENTIALS_FILE: file };
  const keys = { AWS_ACCESS_KEY_ID: 'e', AWS_SECRET_ACCESS_KEY: 'es' };
  const configured = { accessKeyId: 'c', secretAccessKey: 'cs' };
  expect(await find(configured, { ...environment, ...keys })).toMatchObject({ accessKeyId: 'c' });
  expect(await find({}, { ...environment, ...keys })).toMatchObject({ accessKeyId: 'e' });
  expect(await find({}, environment)).toMatchObject({ accessKeyId: 'd' });
  expect(await find({}, { ...environment, AWS_PROFILE: 'other' })).toEqual({
    accessKeyId: 'o',
    secretAccessKey: 'os',
    sessionToken: 'ot',
  });
  rmSync(folder, { recursive: true });
});

test('error: store-credentials-missing: no place has credentials', async () => {
  const environment = {
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  await expect(find({}, environment)).rejects.toThrow(/AWS_ACCESS_KEY_ID/);
});

/** A server that responds like the metadata services of a cloud, and counts the credentials that it returned. */
async function startCloud() {
  const seen: string[] = [];
  const state = { seen, isDown: false, nowUnixMs: 0, url: '', close: () => server.close() };
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (state.isDown) return void response.writeHead(500).end();
    const { headers, url = '' } = request;
    const expires = new Date(state.nowUnixMs + 3_600_000).toISOString();
    const json = { AccessKeyId: 'r', SecretAccessKey: 'rs', Token: 't', Expiration: expires };
    if (url === '/latest/api/token') return void response.end('session');
    if (url.startsWith('/latest/') && headers['x-aws-ec2-metadata-token'] !== 'session') {
      return void response.writeHead(401).end();
    }
    if (url === '/container' && headers.authorization !== 'secret') {
      return void response.writeHead(401).end();
    }
    if (url.endsWith('/security-credentials/')) return void response.end('my-role\n');
    if (url.includes('AssumeRoleWithWebIdentity')) {
      const tags = { ...json, Token: undefined, SessionToken: 't' };
      const xml = Object.entries(tags).map(([tag, text]) => `<${tag}>${text}</${tag}>`);
      return void response.end(`<Credentials>${xml.join('')}</Credentials>`);
    }
    return void response.end(JSON.stringify(json));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

const noFile = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
const role = { accessKeyId: 'r', secretAccessKey: 'rs', sessionToken: 't' };

test('behavior: the role of a machine, a container and a pod is used', async () => {
  const cloud = await startCloud();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'of the pod\n');
  cloud.nowUnixMs = clock.unixMs();
  const machine = { ...noFile, AWS_EC2_METADATA_SERVICE_ENDPOINT: cloud.url };
  expect(await find({}, machine)).toMatchObject(role);
  const container = {
    ...noFile,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.url}/container`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'secret',
  };
  expect(await find({}, container)).toMatchObject(role);
  const pod = {
    ...noFile,
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ROLE_ARN: 'arn:aws:iam::1:role/sluice',
    AWS_ENDPOINT_URL_STS: cloud.url,
  };
  expect(await find({}, pod)).toMatchObject(role);
  expect(cloud.seen.at(-1)).toContain('WebIdentityToken=of+the+pod');
  cloud.close();
  rmSync(folder, { recursive: true });
});

test('behavior: credentials of a role are fetched once, renewed before they expire, and used while they are valid', async () => {
  const cloud = await startCloud();
  let nowUnixMs = 1_000_000;
  cloud.nowUnixMs = nowUnixMs;
  const environment = { ...noFile, AWS_EC2_METADATA_SERVICE_ENDPOINT: cloud.url };
  const get = findCredentials({}, environment, { unixMs: () => nowUnixMs });
  await Promise.all([get(), get(), get()]);
  await get();
  expect(cloud.seen).toHaveLength(3);
  nowUnixMs += 56 * 60_000;
  cloud.isDown = true;
  expect(await get()).toMatchObject(role);
  nowUnixMs += 5 * 60_000;
  await expect(get()).rejects.toMatchObject({ code: 'store-credentials-missing' });
  cloud.isDown = false;
  cloud.nowUnixMs = nowUnixMs;
  expect(await get()).toMatchObject(role);
  cloud.close();
});

test('behavior: a listing is parsed with its entities and its continuation token', () => {
  const entry =
    '<Contents><Key>a&amp;b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>5</Size></Contents>';
  const xml = `<ListBucketResult><IsTruncated>true</IsTruncated>${entry}<NextContinuationToken>t=</NextContinuationToken></ListBucketResult>`;
  expect(parseListing(xml)).toEqual({
    objects: [{ key: 'a&b', byteLength: 5, modifiedUnixMs: Date.UTC(2026, 0, 1) }],
    nextToken: 't=',
  });
});
