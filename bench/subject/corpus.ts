import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The data of a benchmark: `segments/*.segment` for Sluice, `parquet/<table>.parquet` for DuckDB, or one of both. */
export interface Corpus {
  readonly folder: string;
  readonly lastSlot: number;
}

export function segmentsFolder({ folder }: Pick<Corpus, 'folder'>): string {
  return join(folder, 'segments');
}

export function parquetFolder({ folder }: Pick<Corpus, 'folder'>): string {
  return join(folder, 'parquet');
}

/** Returns the total size of the files in a folder. */
export async function folderBytes(folder: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
