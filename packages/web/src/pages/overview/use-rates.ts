import { useEffect, useRef, useState } from 'preact/hooks';
import { clientOf } from '../../state/clients.ts';

/** A few seconds of the ledger's own time. */
interface RateSample {
  readonly blocks: number;
  readonly transactions: number;
}

/** Blocks have their time in whole seconds, and a ledger has two or three of them in one: single seconds would flicker. */
const sampleSeconds = 2;
const sampleCountMax = 30;
/** Enough blocks to fill the line of a ledger with a block every 400 ms. */
const firstBlockCount = 160;
const none: RateSample = { blocks: 0, transactions: 0 };
/** After a pause, such as a hidden tab, older blocks are left out. */
const blockCountMax = 400;

/**
 * Returns blocks and transactions per second of the last minute, by the time of the blocks. The newest sample is incomplete
 * and left out.
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
      // The next head brings another attempt.
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

/** A time without blocks counts as zero, so that a pause is seen as one. Drops samples that are too old. */
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
