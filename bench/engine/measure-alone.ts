/** Measurements of our side only, each in its own process. */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { workerUrl } from '@sluice/base/worker-url';
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
  /**
   * The output size of `JSON.stringify` including line feeds. It equals ours if all text is ASCII and all integers are
   * safe.
   */
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
  /** The memory when the threads were started and nothing was read. */
  readonly startBytes: number;
  readonly peakBytes: number;
}

/** The number of blocks for the writer's measurement, about 60 MB of text. */
const writerBlockCount = 16;
const cacheBytesMin = 2 ** 20;
/** The memory that the process may use in addition to its cache. */
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

/** Undefined if the system does not report it. */
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
