import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatInteger } from '../../base/format.ts';
import { toPixels } from '../../state/rem-pixels.ts';

/** Draws the plot into the element with the colours of the current theme. */
export function buildPlot(box: HTMLElement, data: [number[], number[]], height: number): Plot {
  const colors = getComputedStyle(document.documentElement);
  const color = (name: string) => colors.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--text-3'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `${toPixels(0.857)}px Inter, system-ui, sans-serif`,
    values: (_: Plot, splits: number[]) => splits.map((value) => formatInteger(value)),
  };
  const line = color('--plot-1');
  const bars = Plot.paths.bars?.({ size: [0.7, toPixels(1)], radius: 0.15 }) ?? (() => null);
  return new Plot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      cursor: { y: false },
      scales: {
        // Adds half a bar at both ends.
        x: { time: false, range: (_, min, max) => [min - 0.6, max + 0.6] },
        y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
      },
      axes: [
        // With this distance, labels of nine digits do not overlap.
        { ...axis, size: toPixels(2), space: toPixels(6.5), grid: { show: false } },
        { ...axis, size: toPixels(3.571), space: toPixels(2.2) },
      ],
      series: [
        { label: 'Slot' },
        {
          label: 'Transactions',
          stroke: line,
          fill: `${line}cc`,
          width: 0,
          // Each block is a bar; a skipped slot is a gap.
          paths: bars,
          points: { show: false },
        },
      ],
    },
    data,
    box,
  );
}
