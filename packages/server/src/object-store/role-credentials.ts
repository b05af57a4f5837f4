/**
 * Credentials of a role, which a cloud provides to its machines, containers and pods. They expire, so they are fetched again in time:
 *
 *   web identity   AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN: a token of Kubernetes, exchanged at STS
 *   container      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI: ECS, EKS Pod Identity
 *   machine        the metadata service of EC2 (version 2), unless AWS_EC2_METADATA_DISABLED is true
 */
import { readFileSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { readTag } from './parse-listing.ts';

export interface RoleCredentials extends Credentials {
  readonly expiresUnixMs: number;
}

export type FetchRole = () => Promise<RoleCredentials>;

const requestMsMax = 2_000;
const tokenSeconds = '21600';
const containerHost = 'http://169.254.170.2';
const machineHost = 'http://169.254.169.254';
const rolesPath = '/latest/meta-data/iam/security-credentials/';

/** Returns the function that fetches the credentials of the role in the environment; undefined if the metadata service is disabled. */
export function findRole(environment: Environment): FetchRole | undefined {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: role } = environment;
  if (tokenFile !== undefined && role !== undefined) {
    return () => fetchWebIdentity(tokenFile, role, environment);
  }
  const relative = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'];
  const full = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
  if (relative !== undefined)
    return () => fetchContainer(`${containerHost}${relative}`, environment);
  if (full !== undefined) return () => fetchContainer(full, environment);
  if (environment['AWS_EC2_METADATA_DISABLED'] === 'true') return undefined;
  return () => fetchMachine(environment['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? machineHost);
}

async function fetchWebIdentity(
  tokenFile: string,
  role: string,
  environment: Environment,
): Promise<RoleCredentials> {
  const region = environment['AWS_REGION'] ?? 'us-east-1';
  const endpoint = environment['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.amazonaws.com`;
  const query = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] ?? 'sluice',
    WebIdentityToken: readToken(tokenFile),
  });
  const xml = await ask(`${endpoint}/?${query}`);
  return toCredentials({
    AccessKeyId: readTag(xml, 'AccessKeyId'),
    SecretAccessKey: readTag(xml, 'SecretAccessKey'),
    Token: readTag(xml, 'SessionToken'),
    Expiration: readTag(xml, 'Expiration'),
  });
}

async function fetchContainer(url: string, environment: Environment): Promise<RoleCredentials> {
  const file = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const token =
    file === undefined ? environment['AWS_CONTAINER_AUTHORIZATION_TOKEN'] : readToken(file);
  const headers = token === undefined ? {} : { authorization: token };
  return toCredentials(parseResponse(await ask(url, { headers })));
}

async function fetchMachine(host: string): Promise<RoleCredentials> {
  const token = await ask(`${host}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': tokenSeconds },
  });
  const headers = { 'x-aws-ec2-metadata-token': token };
  const [role = ''] = (await ask(`${host}${rolesPath}`, { headers })).split('\n');
  return toCredentials(parseResponse(await ask(`${host}${rolesPath}${role.trim()}`, { headers })));
}

async function ask(url: string, options: RequestInit = {}): Promise<string> {
  try {
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(requestMsMax) });
    if (response.ok) return await response.text();
    throw missing(`HTTP ${response.status}`);
  } catch (cause) {
    if (cause instanceof CodedError) throw cause;
    throw missing(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw missing(`cannot read ${file}`, cause);
  }
}

type ResponseKeys = Readonly<Record<string, string | undefined>>;

function parseResponse(text: string): ResponseKeys {
  try {
    return JSON.parse(text) as ResponseKeys;
  } catch (cause) {
    throw missing('the response is not JSON', cause);
  }
}

function toCredentials(response: ResponseKeys): RoleCredentials {
  const {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Token,
    Expiration,
  } = response;
  const expiresUnixMs = Date.parse(Expiration ?? '');
  if (accessKeyId === undefined || secretAccessKey === undefined || Number.isNaN(expiresUnixMs)) {
    throw missing('the response has no key');
  }
  return { accessKeyId, secretAccessKey, sessionToken: Token, expiresUnixMs };
}

function missing(reason: string, cause?: unknown): CodedError {
  return new CodedError('store-credentials-missing', { reason }, { cause });
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;
