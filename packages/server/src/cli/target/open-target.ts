/**
 * Opens the dataset that a command reads: of a running service, or of a data folder. This process serves a folder to itself, so that
 * both are read in the same way.
 */

import { systemClock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { DATASET_NAME } from '@sluice/protocol/dataset-name';
import { listDataFolder } from '../list-data-folder.ts';
import { readVersion } from '../read-version.ts';
import { getJson } from './get-json.ts';

export interface Target {
  readonly name: string;
  /** The address of the dataset, `http://HOST/datasets/NAME`. */
  readonly url: string;
  readonly key: string | undefined;
  /** Describes the origin of the data. */
  readonly where: string;
  /** Set for a data folder, which does not grow while the command runs; undefined for a service. */
  readonly folder: FolderTarget | undefined;
  close(): Promise<void>;
}

export interface FolderTarget {
  /** Reads what another process has written meanwhile. */
  reload(): Promise<void>;
  /** The paths of damaged segments that were found. */
  readonly damaged: ReadonlySet<string>;
}

export interface TargetChoice {
  /** An address or a name; undefined if there is only one dataset. */
  readonly target: string | undefined;
  /** A data folder to read instead of a service. */
  readonly data: string | undefined;
}

export interface TargetEnvironment {
  readonly SLUICE_URL?: string | undefined;
  readonly SLUICE_KEY?: string | undefined;
}

export const urlDefault = 'http://127.0.0.1:8080';
export const folderDefault = './data';
/** A short timeout for a service on this machine, because often no service runs here. */
export const probeMsMax = 2_000;

export async function openTarget(
  { target, data }: TargetChoice,
  env: TargetEnvironment = process.env,
): Promise<Target> {
  const key = env.SLUICE_KEY || undefined;
  if (target !== undefined && /^https?:/i.test(target)) {
    if (data === undefined) return openUrl(target, key);
    throw new CodedError('cli-usage', {
      option: '--data',
      fault: 'cannot be combined with an address',
    });
  }
  if (data !== undefined) return openFolder(target, data);
  const base = (env.SLUICE_URL || urlDefault).replace(/\/+$/, '');
  const served = await findServed(target, { base, key }, Boolean(env.SLUICE_URL));
  return served ?? openFolder(target, folderDefault, base);
}

/** Runs the work of a command on the dataset that it reads, and closes the dataset afterwards. */
export async function withTarget<Result>(
  name: string | undefined,
  { data }: { readonly data?: string },
  work: (target: Target) => Result | Promise<Result>,
): Promise<Result> {
  const target = await openTarget({ target: name, data });
  try {
    return await work(target);
  } finally {
    await target.close();
  }
}

async function openUrl(address: string, key: string | undefined): Promise<Target> {
  const { base, name } = splitAddress(address);
  if (name !== undefined) return serviceTarget(name, { base, key });
  return serviceTarget(chooseOnly(await listServed({ base, key }), base), { base, key });
}

const addressPath = new RegExp(`^(.*?)(?:/datasets/(${DATASET_NAME}))?/*$`);

/** Returns the address of the service, and the name of the dataset if the address contains it. */
export function splitAddress(address: string): { base: string; name: string | undefined } {
  if (URL.canParse(address)) {
    const { origin, pathname } = new URL(address);
    const [, prefix = '', name] = addressPath.exec(pathname) ?? [];
    return { base: `${origin}${prefix}`, name };
  }
  throw new CodedError('cli-usage', { found: address, allowed: 'http://HOST:PORT/datasets/NAME' });
}

export interface ServiceAddress {
  readonly base: string;
  readonly key: string | undefined;
}

function serviceTarget(name: string, { base, key }: ServiceAddress): Target {
  const url = `${base}/datasets/${name}`;
  return { name, url, key, where: url, folder: undefined, close: async () => undefined };
}

/** Returns the dataset of the service. If it is not there, throws if the service is required, and otherwise returns undefined. */
export async function findServed(
  name: string | undefined,
  service: ServiceAddress,
  isRequired: boolean,
): Promise<Target | undefined> {
  try {
    if (name === undefined) {
      const names = await listServed(service, probeMsMax);
      return serviceTarget(chooseOnly(names, service.base), service);
    }
    const { base, key } = service;
    await getJson(`${base}/datasets/${encodeURIComponent(name)}/head`, { key, msMax: probeMsMax });
    return serviceTarget(name, service);
  } catch (error) {
    const isUnknown = name !== undefined && isCodedError(error, 'cli-dataset-missing');
    if (!isNoService(error) && !isUnknown) throw error;
  }
  if (!isRequired) return undefined;
  const [url, found] = [service.base, (await listServed(service)).join(' ') || 'none'];
  throw new CodedError('service-dataset-missing', { dataset: name ?? '', url, found });
}

/** Returns whether an error means that there is no Sluice at the address. */
export function isNoService(error: unknown): boolean {
  return isCodedError(error, 'service-unreachable') || isCodedError(error, 'service-foreign');
}

export async function listServed(
  { base, key }: ServiceAddress,
  msMax?: number,
): Promise<readonly string[]> {
  const options = { key, ...(msMax === undefined ? {} : { msMax }) };
  const list = await getJson<readonly { readonly dataset: string }[]>(`${base}/datasets`, options);
  return list.map(({ dataset }) => dataset);
}

async function openFolder(
  name: string | undefined,
  dataFolder: string,
  triedUrl?: string,
): Promise<Target> {
  const names = await listNames(dataFolder, name, triedUrl);
  const chosen = name ?? chooseOnly(names, dataFolder);
  if (!names.includes(chosen)) throw missing(chosen, { dataFolder, triedUrl, names });
  // Loaded only here, because a command that reads from a running service starts faster without it.
  const { serveFolder } = await import('../../app/serve-folder.ts');
  const service = await serveFolder(
    { dataFolder, name: chosen, version: readVersion() },
    { clock: systemClock },
  );
  const { url, key, reader, close } = service;
  return {
    name: chosen,
    url,
    key,
    where: `${dataFolder}/${chosen}`,
    folder: {
      reload: () => reader.reload(),
      get damaged() {
        return reader.damaged;
      },
    },
    close,
  };
}

async function listNames(
  dataFolder: string,
  name: string | undefined,
  triedUrl: string | undefined,
): Promise<readonly string[]> {
  try {
    return await listDataFolder(dataFolder);
  } catch (error) {
    if (triedUrl === undefined || !isCodedError(error, 'storage-missing')) throw error;
    throw missing(name, { dataFolder, triedUrl, names: [] });
  }
}

interface Searched {
  readonly dataFolder: string;
  readonly triedUrl: string | undefined;
  readonly names: readonly string[];
}

export function missing(
  name: string | undefined,
  { dataFolder, triedUrl, names }: Searched,
): CodedError {
  return new CodedError('cli-dataset-missing', {
    ...(name === undefined ? {} : { dataset: name }),
    ...(triedUrl === undefined ? {} : { url: triedUrl }),
    folder: dataFolder,
    ...(names.length === 0 ? {} : { found: names.join(' ') }),
  });
}

/** Returns the only name. With several names the user must choose. */
function chooseOnly(names: readonly string[], where: string): string {
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  if (only === undefined) throw new CodedError('cli-dataset-missing', { where });
  throw new CodedError('cli-dataset-ambiguous', { where, found: names.join(' ') });
}
