import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandProcess } from '../service/command-process.ts';
import type { ScanQuery } from './make-queries.ts';
import type { Setup } from './warm-service.ts';

/** What the engine reads and decompresses for one first scan, as counted by `sluice explain`. */
export interface ScanCost {
  readonly fileBytes: number;
  readonly bytesInflated: number;
  readonly answerBytes: number;
}

export async function explainQuery({ raw, stored }: Setup, query: ScanQuery): Promise<ScanCost> {
  const path = join(stored.dataFolder, '..', 'query.json');
  const range = { fromBlock: raw.firstSlot, toBlock: raw.lastSlot };
  await writeFile(path, JSON.stringify({ ...range, ...query.body }));
  const files = stored.segments.map((segment) => segment.path);
  const text = await CommandProcess.output(['explain', '--json', '--query', path, ...files]);
  const { total } = JSON.parse(text) as { total: ScanCost };
  const { fileBytes, bytesInflated, answerBytes } = total;
  return { fileBytes, bytesInflated, answerBytes };
}
