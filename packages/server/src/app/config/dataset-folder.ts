import { join } from 'node:path';
import type { Config, DatasetConfig } from './config-schema.ts';

export function datasetFolder(
  { name, folder }: Pick<DatasetConfig, 'name' | 'folder'>,
  { data }: Pick<Config, 'data'>,
): string {
  return folder ?? join(data, name);
}
