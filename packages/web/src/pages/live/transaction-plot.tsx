import { useEffect, useMemo, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { remPixels, toPixels } from '../../state/rem-pixels.ts';
import { isDark } from '../../state/theme.ts';
import type { LiveBlock } from './live-chain.ts';

type PlotData = [number[], number[]];

const heightRem = 10.714;

/** Plots the transactions of each block by slot. The plot library is loaded when the plot is first shown. */
export function TransactionPlot({ blocks }: { readonly blocks: readonly LiveBlock[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = useMemo(() => toData(blocks), [blocks]);
  const latest = useRef(data);
  latest.current = data;
  const dark = isDark.value;
  const rem = remPixels.value;
  const height = toPixels(heightRem);
  // Redraws the plot when the theme or the size of the window changes.
  useEffect(() => {
    const stop = new AbortController();
    const open = async () => {
      const { buildPlot } = await import('./build-plot.ts');
      if (stop.signal.aborted || box.current === null) return;
      plot.current = buildPlot(box.current, latest.current, height);
    };
    open().catch(() => undefined);
    return () => {
      stop.abort();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [dark, rem]);
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      plot.current?.setSize({ width: entry?.contentRect.width ?? 300, height });
    });
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, [height]);
  return (
    <section class="plot-panel" aria-label="Transactions per block">
      <h2 class="label">Transactions per block</h2>
      <div ref={box} class="plot" style={{ minHeight: `${height}px` }} />
    </section>
  );
}

function toData(blocks: readonly LiveBlock[]): PlotData {
  const current = blocks.filter(({ isOrphaned }) => !isOrphaned).toReversed();
  return [
    current.map(({ number }) => number),
    current.map(({ transactionCount }) => transactionCount),
  ];
}
