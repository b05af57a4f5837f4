/** The yardstick: bare `JSON.parse` of blocks on one thread, in the same minute as what is measured. */
export interface ParseSpeed {
  readonly megabytesPerSecond: number;
  /** Processor time of this thread for a block, which is less than wall time where the machine is busy. */
  readonly cpuMsPerBlock: number;
}

/** Blocks are parsed again and again for so long. */
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
