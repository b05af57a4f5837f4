import type { Histogram } from './histogram.ts';
import type { HeadOptions, HeadResult } from './measure-head.ts';

const anonymousBytesMax = 1e9;

/** Compares a figure with its maximum. */
export function verdict(found: number, max: number, of: string): string {
  return `${(found / max).toFixed(2)} × ${of}: ${found <= max ? 'met' : 'missed'}`;
}

/** Compares a ratio with its minimum. */
export function goalReached(ratio: number, min: number, of: string): string {
  return `${ratio.toFixed(2)} × ${of}, goal ${min}: ${ratio >= min ? 'met' : 'missed'}`;
}

export function describeLatencies(latencyMs: Histogram): string {
  const at = (share: number) => latencyMs.quantile(share).toFixed(0);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, max ${latencyMs.max.toFixed(0)} ms over ${latencyMs.count.toLocaleString('en')} arrivals`;
}

export function describeMemory(bytes: number): string {
  return `anonymous memory at most ${(bytes / 1e6).toFixed(0)} MB · ${verdict(bytes, anonymousBytesMax, 'of 1.0 GB')}`;
}

export function describeHead(result: HeadResult, shape: HeadOptions): string[] {
  const { latencyMs, blockCount, plainBytes, sentBytes, loopDelayMsMax } = result;
  const perBlock = (bytes: number) =>
    `${(bytes / blockCount / shape.followerCount / 1000).toFixed(1)} kB`;
  const at = (share: number) => latencyMs.quantile(share).toFixed(0);
  const turn =
    loopDelayMsMax === undefined
      ? ''
      : ` · longest event loop delay ${loopDelayMsMax.toFixed(0)} ms`;
  return [
    `from confirmation to reading: p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, max ${latencyMs.max.toFixed(0)} ms over ${latencyMs.count.toLocaleString('en')} arrivals of ${blockCount} blocks, none missed or duplicated`,
    `per block and follower: ${perBlock(plainBytes)} of text, ${perBlock(sentBytes)} sent; ${(result.comparedBytes / 1e6).toFixed(1)} MB of it requested again and equal`,
    `cores: service ${result.cores.toFixed(2)}, simulator ${result.simulatorCores.toFixed(2)}, readers ${result.clientCores.toFixed(2)}, other processes ${result.otherCores.toFixed(2)}${turn}`,
    describeMemory(result.anonymousBytesPeak),
  ];
}
