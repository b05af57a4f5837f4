import { listDataFolder } from '../list-data-folder.ts';
import {
  findServed,
  folderDefault,
  isNoService,
  listServed,
  missing,
  probeMsMax,
  type ServiceAddress,
  splitAddress,
  type TargetChoice,
  type TargetEnvironment,
  urlDefault,
} from './open-target.ts';

/** Datasets of a service or of a data folder. */
export type TargetList = {
  readonly names: readonly string[];
  /** Whether one dataset was named. Otherwise these are all datasets. */
  readonly isNamed: boolean;
} & (
  | { readonly kind: 'service'; readonly service: ServiceAddress }
  | { readonly kind: 'folder'; readonly folder: string }
);

/** Returns the named dataset, or all datasets if none is named. Searches in the same order as `openTarget`. */
export async function listTargets(
  { target, data }: TargetChoice,
  env: TargetEnvironment = process.env,
): Promise<TargetList> {
  const key = env.SLUICE_KEY || undefined;
  if (target !== undefined && /^https?:/i.test(target)) {
    const { base, name } = splitAddress(target);
    return listService({ base, key }, name);
  }
  if (data !== undefined) return listFolder(data, target);
  const service = { base: (env.SLUICE_URL || urlDefault).replace(/\/+$/, ''), key };
  try {
    if (target === undefined || (await findServed(target, service, Boolean(env.SLUICE_URL))))
      return await listService(service, target, probeMsMax);
  } catch (error) {
    if (env.SLUICE_URL || !isNoService(error)) throw error;
  }
  return listFolder(folderDefault, target);
}

async function listService(
  service: ServiceAddress,
  name: string | undefined,
  msMax?: number,
): Promise<TargetList> {
  const names = name === undefined ? await listServed(service, msMax) : [name];
  return { kind: 'service', service, names, isNamed: name !== undefined };
}

async function listFolder(folder: string, name: string | undefined): Promise<TargetList> {
  const names = await listDataFolder(folder);
  if (name === undefined) return { kind: 'folder', folder, names, isNamed: false };
  if (names.includes(name)) return { kind: 'folder', folder, names: [name], isNamed: true };
  throw missing(name, { dataFolder: folder, triedUrl: undefined, names });
}
