import { ScenarioFailure } from '../service/scenario.ts';
import { type Answer, type Asked, drainAnswer, readAnswer } from './read-answer.ts';

/** Several clients that ask the same at once, the segments open by then. */
export interface StreamsResult {
  readonly streamCount: number;
  readonly megabytesPerSecond: number;
  /** All of them together, relative to one alone over the same range. */
  readonly totalToOne: number;
  /** By how much the slowest took longer than the fastest. */
  readonly slowestToFastest: number;
}

/** Text of all streams together, above which each asks for a part of the range only. */
const textBytesMax = 2e9;
/** Short scans are asked again and again for so long, at most so often. */
const oneStreamMsMin = 300;
const roundCountMax = 50;

export async function measureStreams(
  asked: Asked,
  { streamCount, textBytes }: { readonly streamCount: number; readonly textBytes: number },
): Promise<StreamsResult> {
  const { first, last } = asked.range;
  const share = Math.min(1, textBytesMax / (streamCount * textBytes));
  const part = { ...asked, range: { first, last: first + Math.floor((last - first) * share) } };
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

/** Returns the time of so many scans, one after the other. */
async function scanRounds(asked: Asked, whole: Answer, roundCount: number): Promise<number> {
  let total = 0;
  for (let round = 0; round < roundCount; round++) {
    const { ms, sentBytes } = await drainAnswer(asked);
    // Where a response may end is the service's choice, but of a bounded range of history it sends all.
    if (asked.encoding === 'identity' && sentBytes < whole.textBytes)
      throw new ScenarioFailure(`a stream ended after ${sentBytes} of ${whole.textBytes} bytes`);
    total += ms;
  }
  return total;
}
