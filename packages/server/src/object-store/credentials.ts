import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import {
  type Credentials,
  type Environment,
  type FetchRole,
  findRole,
  type RoleCredentials,
} from './role-credentials.ts';

export type GetCredentials = () => Promise<Credentials>;

/** Credentials of a role are fetched again this long before they expire. */
const renewMs = 5 * 60_000;

/**
 * Finds the credentials in the places that other tools use, the first of: the configuration, the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the shared credentials file
 * (AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials) with the profile of AWS_PROFILE, the role of the pod, the container
 * or the machine.
 */
export function findCredentials(
  configured: Partial<Credentials>,
  environment: Environment,
  clock: Pick<Clock, 'unixMs'>,
): GetCredentials {
  const fixed = findFixed(configured, environment);
  if (fixed !== undefined) return async () => fixed;
  const fetchRole = findRole(environment);
  if (fetchRole !== undefined) return renewing(fetchRole, clock);
  const profile = environment['AWS_PROFILE'] ?? 'default';
  return async () => {
    throw new CodedError('store-credentials-missing', { profile });
  };
}

function findFixed(
  configured: Partial<Credentials>,
  environment: Environment,
): Credentials | undefined {
  const { accessKeyId, secretAccessKey } = configured;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { accessKeyId, secretAccessKey, sessionToken: configured.sessionToken };
  }
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = environment;
  if (id !== undefined && secret !== undefined) {
    const sessionToken = environment['AWS_SESSION_TOKEN'];
    return { accessKeyId: id, secretAccessKey: secret, sessionToken };
  }
  const file = environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials');
  return parseCredentialsFile(readText(file), environment['AWS_PROFILE'] ?? 'default');
}

/** Fetches the credentials once for all requests. If fetching fails, credentials that are still valid are used. */
function renewing(fetchRole: FetchRole, clock: Pick<Clock, 'unixMs'>): GetCredentials {
  let current: RoleCredentials | undefined;
  let fetching: Promise<RoleCredentials> | undefined;
  const isValid = (marginMs: number) =>
    current !== undefined && clock.unixMs() < current.expiresUnixMs - marginMs;
  return async () => {
    if (current !== undefined && isValid(renewMs)) return current;
    fetching ??= fetchRole().finally(() => {
      fetching = undefined;
    });
    try {
      current = await fetching;
    } catch (error) {
      if (!isValid(0)) throw error;
    }
    assert(current !== undefined, 'credentials were fetched');
    return current;
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Parses the profiles of a shared credentials file: sections in brackets with lines `key = value`. */
function parseCredentialsFile(text: string, profile: string): Credentials | undefined {
  const values = new Map<string, string>();
  let section = '';
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\s*\[\s*([^\]]+?)\s*\]\s*$/.exec(line)?.[1];
    if (heading !== undefined) section = heading;
    const [, key, value] = /^\s*([\w]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === profile && key !== undefined && value !== undefined) values.set(key, value);
  }
  const accessKeyId = values.get('aws_access_key_id');
  const secretAccessKey = values.get('aws_secret_access_key');
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: values.get('aws_session_token') };
}
