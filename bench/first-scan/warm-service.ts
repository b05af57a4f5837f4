import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceProcess } from '../service/processes.ts';
import { loadFileCache } from './file-cache.ts';
import type { ScanQuery } from './make-queries.ts';
import type { Encoding, FirstScanOptions } from './options.ts';
import type { RawBlocks } from './raw-blocks.ts';
import { readAnswer, type ScanRequest, timeFirstLine } from './read-answer.ts';
import { DATASET, type StoredBlocks, WARM_DATASET } from './stored-blocks.ts';

export interface Setup {
  readonly options: FirstScanOptions;
  readonly raw: RawBlocks;
  readonly stored: StoredBlocks;
  readonly progress: (text: string) => void;
}

export interface WarmService {
  readonly service: ServiceProcess;
  /** The query over the whole range of the dataset. None of its segments is open, and the page cache has all of them. */
  readonly request: ScanRequest;
  /** The time from the first request of the process to the end of its first line. */
  readonly processFirstLineMs: number;
}

const warmCountMin = 3;

/** Starts a service and runs the query on the other dataset until the code is optimized. */
export async function startWarmService(
  { options, raw, stored }: Setup,
  query: ScanQuery,
  encoding: Encoding,
): Promise<WarmService> {
  const config = await writeConfig(options, stored.dataFolder);
  const service = await ServiceProcess.start(stored.dataFolder, config);
  const { port } = service;
  const { body } = query;
  // The range ends before the last slot of the last segment, because the answer of a whole segment would be cached.
  const range = { first: raw.warmRange.first, last: raw.warmRange.last - 1 };
  const warm = { port, dataset: WARM_DATASET, encoding, body, range };
  const processFirstLineMs = await timeFirstLine(warm);
  const endSeconds = service.process.cpuSeconds() + options.warmSeconds;
  for (let count = 0; count < warmCountMin || service.process.cpuSeconds() < endSeconds; count++)
    await readAnswer(warm);
  loadFileCache(stored.segments.map(({ path }) => path));
  const whole = { first: raw.firstSlot, last: raw.lastSlot };
  return { service, request: { ...warm, dataset: DATASET, range: whole }, processFirstLineMs };
}

/** Returns the options that name a configuration file, if one is needed. */
async function writeConfig(
  { cacheMegabytes }: FirstScanOptions,
  dataFolder: string,
): Promise<readonly string[]> {
  if (cacheMegabytes === undefined) return [];
  const path = join(dataFolder, '..', 'sluice.yaml');
  await writeFile(path, `engine:\n  cacheBytesMax: ${cacheMegabytes * 1_000_000}\n`);
  return ['--config', path];
}
