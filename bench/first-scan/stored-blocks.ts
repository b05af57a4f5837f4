/** The measured data folder: the dataset, and a second one that only warms up a process. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandProcess } from '../service/command-process.ts';
import { measureParse, type ParseSpeed } from './parse-speed.ts';
import type { RawBlocks } from './raw-blocks.ts';

export const DATASET = 'bench';
/** This name sorts before `bench`, so the warm-up queries of a service read this dataset first and do not open the measured segments. */
export const WARM_DATASET = 'aside';

export interface SegmentFile {
  readonly path: string;
  readonly firstSlot: number;
  readonly lastSlot: number;
  readonly byteLength: number;
}

export interface StoredBlocks {
  readonly dataFolder: string;
  /** In slot order. */
  readonly segments: readonly SegmentFile[];
}

export interface ImportResult {
  readonly blockCount: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly anonymousBytesPeak: number;
  /** The baseline before and after. */
  readonly parse: readonly ParseSpeed[];
}

/** Imports the blocks with the ordinary command, and measures it. */
export async function importBlocks(
  raw: RawBlocks,
  folder: string,
): Promise<{ stored: StoredBlocks; result: ImportResult }> {
  const dataFolder = join(folder, 'data');
  const command = (dataset: string, paths: readonly string[]) =>
    ['import', '--data', dataFolder, '--dataset', dataset, ...paths] as const;
  await CommandProcess.run(command(WARM_DATASET, raw.warmPaths));
  const before = measureParse(raw.sampleTexts);
  const cost = await CommandProcess.measure(command(DATASET, raw.paths));
  const after = measureParse(raw.sampleTexts);
  const segments = await listSegments(join(dataFolder, DATASET, 'segments'));
  await CommandProcess.run(command(DATASET, [raw.abovePath]));
  return {
    stored: { dataFolder, segments },
    result: { ...cost, blockCount: raw.blockCount, parse: [before, after] },
  };
}

async function listSegments(folder: string): Promise<SegmentFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.segment')).sort();
  return await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const [first, last] = name.split('-').map(Number);
      return {
        path,
        firstSlot: first ?? 0,
        lastSlot: last ?? 0,
        byteLength: (await stat(path)).size,
      };
    }),
  );
}
