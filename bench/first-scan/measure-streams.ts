import { ScenarioFailure } from '../service/scenario.ts';
import { drainAnswer, readAnswer, type ScanRequest, type ScanResponse } from './read-answer.ts';

/** The result of several concurrent clients with the same query. The service has read the segments before. */
export interface StreamsResult {
  readonly streamCount: number;
  readonly megabytesPerSecond: number;
  /** The throughput of all clients together, relative to a single one over the same range. */
  readonly totalToOne: number;
  /** The time of the slowest client divided by that of the fastest. */
  readonly slowestToFastest: number;
}

/** If the text of all streams is larger than this, each requests only a part of the range. */
const textBytesMax = 2e9;
/** A short scan is repeated until it has taken this time, but at most `roundCountMax` times. */
const oneStreamMsMin = 300;
const roundCountMax = 50;

export async function measureStreams(
  request: ScanRequest,
  { streamCount, textBytes }: { readonly streamCount: number; readonly textBytes: number },
): Promise<StreamsResult> {
  const { first, last } = request.range;
  const share = Math.min(1, textBytesMax / (streamCount * textBytes));
  const part = { ...request, range: { first, last: first + Math.floor((last - first) * share) } };
  const once = await readAnswer(part);
  const roundCount = Math.min(roundCountMax, Math.ceil(oneStreamMsMin / once.ms));
  const oneMs = await scanRounds(part, once, roundCount);
  const allMs = await Promise.all(
    Array.from({ length: streamCount }, () => scanRounds(part, once, roundCount)),
  );
  const slowestMs = Math.max(...allMs);
  const bytesPerMs = (streamCount * roundCount * once.textBytes) / slowestMs;
  return {
    streamCount,
    megabytesPerSecond: bytesPerMs / 1000,
    totalToOne: (streamCount * oneMs) / slowestMs,
    slowestToFastest: slowestMs / Math.min(...allMs),
  };
}

/** Returns the time of several consecutive scans. */
async function scanRounds(
  request: ScanRequest,
  whole: ScanResponse,
  roundCount: number,
): Promise<number> {
  let total = 0;
  for (let round = 0; round < roundCount; round++) {
    const { ms, sentBytes } = await drainAnswer(request);
    // The service may end a response early, but it sends a bounded range of history completely.
    if (request.encoding === 'identity' && sentBytes < whole.textBytes)
      throw new ScenarioFailure(`a stream ended after ${sentBytes} of ${whole.textBytes} bytes`);
    total += ms;
  }
  return total;
}
