/** Measures one query in one encoding over HTTP. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Quantiles, quantilesOf } from '../benchmark.ts';
import type { ServiceProcess } from '../service/processes.ts';
import type { CheckedAnswer } from './check-answer.ts';
import { dropFileCache } from './file-cache.ts';
import type { ScanQuery } from './make-queries.ts';
import { measureStreams, type StreamsResult } from './measure-streams.ts';
import type { Encoding } from './options.ts';
import { readAnswer, type ScanRequest, timeFirstLine } from './read-answer.ts';
import { type Setup, startWarmService } from './warm-service.ts';

export interface ScanResult {
  readonly encoding: Encoding;
  readonly sentBytes: number;
  readonly firstMs: Quantiles;
  readonly repeatedMs: Quantiles;
  /** The times from a request to the end of the first line, each on a segment that was never opened. */
  readonly firstLineMs: Quantiles;
  /** The same for the first request of a process. */
  readonly processFirstLineMs: Quantiles;
  /** Undefined if the files could not be dropped from the page cache. */
  readonly cold: ColdResult | undefined;
  readonly streams: StreamsResult;
  readonly anonymousBytesPeak: number;
  readonly residentBytesPeak: number;
}

export interface ColdResult {
  readonly ms: number;
  readonly diskBytes: number;
}

/** The maximum number of segments that are opened to measure first lines. */
const lineSampleCountMax = 16;
/** How long the service may take to end an abandoned stream. */
const streamEndMs = 30;

export class ScanMeasurement {
  readonly #setup: Setup;
  readonly #query: ScanQuery;
  readonly #encoding: Encoding;
  readonly #processFirstLineMs: number[] = [];
  #anonymousBytesPeak = 0;
  #residentBytesPeak = 0;

  constructor(setup: Setup, query: ScanQuery, encoding: Encoding) {
    this.#setup = setup;
    this.#query = query;
    this.#encoding = encoding;
  }

  async measure(checked: CheckedAnswer): Promise<ScanResult> {
    const { options } = this.#setup;
    const firstMs: number[] = [];
    for (let run = 1; run < options.runCount; run++)
      firstMs.push(await this.#inService(async ({ request }) => (await readAnswer(request)).ms));
    const last = await this.#inService(({ request }) => this.#scanRepeatedly(request, checked));
    firstMs.push(last.firstMs);
    const lines = await this.#inService(({ request }) => this.#timeFirstLines(request, checked));
    return {
      encoding: this.#encoding,
      sentBytes: last.sentBytes,
      firstMs: quantilesOf(firstMs),
      repeatedMs: quantilesOf(last.repeatedMs),
      firstLineMs: quantilesOf(lines),
      cold: options.hasColdFiles
        ? await this.#inService((warm) => this.#scanCold(warm))
        : undefined,
      streams: last.streams,
      processFirstLineMs: quantilesOf(this.#processFirstLineMs),
      anonymousBytesPeak: this.#anonymousBytesPeak,
      residentBytesPeak: this.#residentBytesPeak,
    };
  }

  async #inService<Result>(
    use: (warm: { service: ServiceProcess; request: ScanRequest }) => Promise<Result>,
  ): Promise<Result> {
    const warm = await startWarmService(this.#setup, this.#query, this.#encoding);
    const { process } = warm.service;
    try {
      this.#processFirstLineMs.push(warm.processFirstLineMs);
      return await use(warm);
    } finally {
      this.#anonymousBytesPeak = Math.max(this.#anonymousBytesPeak, process.anonymousBytesPeak);
      this.#residentBytesPeak = Math.max(this.#residentBytesPeak, process.residentBytesPeak);
      await process.stop();
    }
  }

  async #scanRepeatedly(request: ScanRequest, checked: CheckedAnswer) {
    const { options } = this.#setup;
    const first = await readAnswer(request);
    const repeatedMs: number[] = [];
    for (let run = 0; run < options.repeatCount; run++)
      repeatedMs.push((await readAnswer(request)).ms);
    const streams = await measureStreams(request, {
      streamCount: options.streamCount,
      textBytes: checked.textBytes,
    });
    return { firstMs: first.ms, sentBytes: first.sentBytes, repeatedMs, streams };
  }

  /** Starts from the first matching block of each segment. */
  async #timeFirstLines(request: ScanRequest, { matchedSlots }: CheckedAnswer): Promise<number[]> {
    const starts = this.#setup.stored.segments.flatMap(({ firstSlot, lastSlot }) => {
      const first = matchedSlots.find((slot) => slot >= firstSlot && slot <= lastSlot);
      return first ?? [];
    });
    const samples: number[] = [];
    for (const first of starts.slice(0, lineSampleCountMax)) {
      samples.push(await timeFirstLine({ ...request, range: { ...request.range, first } }));
      await sleep(streamEndMs);
    }
    return samples;
  }

  async #scanCold(warm: { service: ServiceProcess; request: ScanRequest }) {
    const { process } = warm.service;
    if (!dropFileCache(this.#setup.stored.segments.map(({ path }) => path))) return undefined;
    const before = process.diskBytesRead();
    const { ms } = await readAnswer(warm.request);
    return { ms, diskBytes: process.diskBytesRead() - before };
  }
}
