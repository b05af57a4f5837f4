import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findCredentials } from './credentials.ts';
import { parseListing } from './parse-listing.ts';

test('default: the configuration goes before the environment, and that before the shared file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-credentials-'));
  const file = join(folder, 'credentials');
  writeFileSync(
    file,
    '[default]\naws_access_key_id = d\naws_secret_access_key = ds\n\n[ other ]\naws_access_key_id=o\naws_secret_access_key=os\naws_session_token=ot\n',
  );
  const environment = { AWS_SHARED_CREDENTIALS_FILE: file };
  const keys = { AWS_ACCESS_KEY_ID: 'e', AWS_SECRET_ACCESS_KEY: 'es' };
  const configured = { accessKeyId: 'c', secretAccessKey: 'cs' };
  const idOf = (...args: Parameters<typeof findCredentials>) =>
    findCredentials(...args).accessKeyId;
  expect(idOf(configured, { ...environment, ...keys })).toBe('c');
  expect(idOf({}, { ...environment, ...keys })).toBe('e');
  expect(idOf({}, environment)).toBe('d');
  expect(findCredentials({}, { ...environment, AWS_PROFILE: 'other' })).toEqual({
    accessKeyId: 'o',
    secretAccessKey: 'os',
    sessionToken: 'ot',
  });
  rmSync(folder, { recursive: true });
});

test('error: store-credentials-missing: nowhere to be found', () => {
  const environment = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
  expect(() => findCredentials({}, environment)).toThrow(/AWS_ACCESS_KEY_ID/);
});

test('behavior: a listing is parsed with its entities and its token', () => {
  const entry =
    '<Contents><Key>a&amp;b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>5</Size></Contents>';
  const xml = `<ListBucketResult><IsTruncated>true</IsTruncated>${entry}<NextContinuationToken>t=</NextContinuationToken></ListBucketResult>`;
  expect(parseListing(xml)).toEqual({
    objects: [{ key: 'a&b', byteLength: 5, modifiedUnixMs: Date.UTC(2026, 0, 1) }],
    nextToken: 't=',
  });
});
