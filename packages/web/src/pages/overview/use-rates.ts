import { useEffect, useRef, useState } from 'preact/hooks';
import { clientOf } from '../../state/clients.ts';

/** The blocks and transactions of a few seconds of ledger time. */
interface RateSample {
  readonly blocks: number;
  readonly transactions: number;
}

/** Block times are whole seconds, and a second has two or three blocks, so rates of single seconds would vary too much. */
const sampleSeconds = 2;
const sampleCountMax = 30;
/** Enough blocks to fill the plot for a ledger with a block every 400 ms. */
const firstBlockCount = 160;
const none: RateSample = { blocks: 0, transactions: 0 };
/** After a pause, for example in a hidden tab, older blocks are not loaded. */
const blockCountMax = 400;

/**
 * Returns blocks and transactions per second of the last minute, by the times of the blocks, without the newest sample, which is
 * incomplete.
 */
export function useRates(
  dataset: string,
  head: number | null,
  start: number,
): readonly RateSample[] {
  const samples = useRef<Map<number, RateSample>>(new Map());
  const next = useRef<number | undefined>(undefined);
  const isReading = useRef(false);
  const [series, setSeries] = useState<readonly RateSample[]>([]);
  useEffect(() => {
    if (head === null || isReading.current || (next.current ?? 0) > head) return;
    const back = next.current === undefined ? firstBlockCount : blockCountMax;
    const from = Math.max(start, head - back, next.current ?? 0);
    isReading.current = true;
    readSamples(dataset, { from, to: head }, samples.current)
      .then((read) => {
        next.current = head + 1;
        samples.current = read;
        setSeries(toSeries(read));
      })
      // The next head causes another attempt.
      .catch(() => undefined)
      .finally(() => {
        isReading.current = false;
      });
  }, [dataset, head, start]);
  return series;
}

async function readSamples(
  dataset: string,
  { from, to }: { readonly from: number; readonly to: number },
  known: ReadonlyMap<number, RateSample>,
): Promise<Map<number, RateSample>> {
  const samples = new Map(known);
  const stream = clientOf(dataset).stream({
    fromBlock: from,
    toBlock: to,
    includeAllBlocks: true,
    fields: { block: { number: true, timestamp: true, recordCounts: true } },
  });
  for await (const batch of stream) {
    if (batch.kind === 'rollback') continue;
    for (const { header } of batch.blocks) {
      if (header.timestamp === null) continue;
      const index = Number(header.timestamp / BigInt(sampleSeconds));
      const { blocks, transactions } = samples.get(index) ?? none;
      samples.set(index, {
        blocks: blocks + 1,
        transactions: transactions + header.recordCounts.transactions,
      });
    }
  }
  return samples;
}

/** A period without blocks counts as zero. Drops samples that are too old. */
function toSeries(samples: Map<number, RateSample>): readonly RateSample[] {
  if (samples.size === 0) return [];
  const last = Math.max(...samples.keys()) - 1;
  const first = Math.max(Math.min(...samples.keys()) + 1, last - sampleCountMax + 1);
  for (const index of samples.keys()) if (index < last - sampleCountMax) samples.delete(index);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => {
    const { blocks, transactions } = samples.get(first + i) ?? none;
    return { blocks: blocks / sampleSeconds, transactions: transactions / sampleSeconds };
  });
}
