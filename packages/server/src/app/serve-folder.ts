import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@sluice/base/clock';
import { DIALECTS } from '@sluice/protocol/dialect';
import { pino } from 'pino';
import { StoredReader } from '../dataset/stored/stored-reader.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { StoredDigests } from '../stream/lookups/digest-files.ts';
import { loadConfig } from './config/load-config.ts';
import { Service } from './service.ts';

export interface FolderService {
  readonly url: string;
  /** Known only to this process, so that other users of the machine cannot read the data through this service. */
  readonly key: string;
  readonly reader: StoredReader;
  close(): Promise<void>;
}

export interface ServeFolderOptions {
  readonly dataFolder: string;
  readonly name: string;
  readonly version: string;
}

/**
 * Serves one dataset of a data folder on a free loopback port, for a command of this process. The dataset is only read, so another
 * process can write to it at the same time.
 */
export async function serveFolder(
  { dataFolder, name, version }: ServeFolderOptions,
  { clock }: { readonly clock: Clock },
): Promise<FolderService> {
  const reader = await StoredReader.open(`${dataFolder}/${name}`, nodeFs);
  const overrides = { data: dataFolder, listen: { port: 0 }, admin: { port: 0 } };
  const { config } = loadConfig({ overrides }, {});
  const key = randomBytes(32).toString('base64url');
  const keys = [{ name: 'command', hash: createHash('sha256').update(key).digest() }];
  const log = pino({ level: 'silent' });
  const service = await Service.start({ config, keys, version }, { clock, log });
  const { aliases } = reader.description;
  service.expect({ name, aliases: aliases.filter((alias) => alias !== name), dialects: DIALECTS });
  const stored = new StoredDigests(`${dataFolder}/${name}`, nodeFs);
  // Only the process that writes the dataset adds to its folder.
  const digestFiles = {
    read: (window: number) => stored.read(window),
    readGroup: (group: number) => stored.readGroup(group),
    write: async () => undefined,
    writeGroup: async () => undefined,
    removeBelow: async () => undefined,
  };
  service.open(name, { reader, ingest: () => null, isFed: false, digestFiles });
  return {
    url: `http://127.0.0.1:${service.port}/datasets/${name}`,
    key,
    reader,
    close: async () => {
      await service.close();
      reader.close();
    },
  };
}
