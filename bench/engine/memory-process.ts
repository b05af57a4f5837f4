/** Measures the peak anonymous memory of a process that evaluates a query over files ten times its cache. */
import { readFileSync } from 'node:fs';
import type { MemoryOptions, MemoryResult } from './measure-alone.ts';
import { parseBody } from './parse-body.ts';
import { SluiceSide } from './sluice-side.ts';

const { corpus, body, threadCount, cacheBytesMax } = JSON.parse(
  process.argv[2] ?? '',
) as MemoryOptions;

function anonymousBytes(): number {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

const side = await SluiceSide.start(corpus, { threadCount, cacheBytesMax });
const startBytes = anonymousBytes();
let peakBytes = startBytes;
for await (const _ of side.answer(parseBody(body)))
  peakBytes = Math.max(peakBytes, anonymousBytes());
const result: MemoryResult = { cacheBytesMax, startBytes, peakBytes };
process.send?.(result, () => void side.close());
