/** The baseline: `JSON.parse` of blocks on one thread, measured within the same minute. */
export interface ParseSpeed {
  readonly megabytesPerSecond: number;
  /** The processor time of this thread per block, which is less than wall-clock time on a busy machine. */
  readonly cpuMsPerBlock: number;
}

/** How long blocks are parsed repeatedly. */
const parseMsMin = 500;

export function measureParse(texts: readonly string[]): ParseSpeed {
  let characterCount = 0;
  let blockCount = 0;
  const cpuStart = process.cpuUsage();
  const startMs = performance.now();
  do {
    for (const text of texts) {
      JSON.parse(text);
      characterCount += text.length;
      blockCount++;
    }
  } while (performance.now() - startMs < parseMsMin);
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuStart);
  return {
    megabytesPerSecond: characterCount / 1000 / ms,
    cpuMsPerBlock: (user + system) / 1000 / blockCount,
  };
}
