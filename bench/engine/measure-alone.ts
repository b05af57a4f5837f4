/** What is measured of our side alone, each in a process of its own. */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { workerUrl } from '@sluice/server/dist/base/worker-url.js';
import type { Quantiles } from '../benchmark.ts';
import { type Corpus, folderBytes, segmentsFolder } from './corpus.ts';
import { SubjectFailure } from './subject.ts';

export interface WriterOptions {
  readonly corpus: Corpus;
  readonly body: object;
  readonly runCount: number;
}

export interface WriterResult {
  readonly answerBytes: number;
  /** What `JSON.stringify` made, with line feeds: as many as our bytes where all text is ASCII and all integers are safe. */
  readonly characterCount: number;
  readonly sluice: Quantiles;
  readonly stringify: Quantiles;
}

export interface MemoryOptions {
  readonly corpus: Corpus;
  readonly body: object;
  readonly threadCount: number;
  readonly cacheBytesMax: number;
}

export interface MemoryResult {
  readonly cacheBytesMax: number;
  /** When the threads were up and nothing was read. */
  readonly startBytes: number;
  readonly peakBytes: number;
}

/** As many blocks as the writer is measured on: some 60 MB of text. */
const writerBlockCount = 16;
const cacheBytesMin = 2 ** 20;
/** How much the process may take beyond its cache. */
export const beyondCacheBytesMax = 200 * 2 ** 20;

export async function measureWriter(
  corpus: Corpus,
  everything: object,
  runCount: number,
): Promise<WriterResult> {
  const { firstSlot, lastSlot } = corpus;
  const toBlock = Math.min(lastSlot, firstSlot + writerBlockCount - 1);
  return await runAlone('./writer-process.ts', {
    corpus,
    body: { ...everything, toBlock },
    runCount,
  });
}

/** Undefined where the system does not tell. */
export async function measureMemory(
  corpus: Corpus,
  body: object,
  threadCount: number,
): Promise<MemoryResult | undefined> {
  if (!existsSync('/proc/self/status')) return undefined;
  const { bytes } = await folderBytes(segmentsFolder(corpus));
  const cacheBytesMax = Math.max(cacheBytesMin, Math.floor(bytes / 10));
  return await runAlone('./memory-process.ts', { corpus, body, threadCount, cacheBytesMax });
}

function runAlone<Result>(script: string, options: WriterOptions | MemoryOptions): Promise<Result> {
  return new Promise((resolve, reject) => {
    const file = fileURLToPath(workerUrl(import.meta.url, script));
    const child = fork(file, [JSON.stringify(options)], { stdio: ['ignore', 2, 2, 'ipc'] });
    child.once('message', (result) => resolve(result as Result));
    child.once('exit', (code) => reject(new SubjectFailure(`${script} ended: ${code}`)));
  });
}
