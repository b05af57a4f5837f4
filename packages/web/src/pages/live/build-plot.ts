import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatInteger } from '../../base/format.ts';

/** Draws into the box with the colours of the current theme. */
export function buildPlot(box: HTMLElement, data: [number[], number[]], height: number): Plot {
  const colors = getComputedStyle(document.documentElement);
  const color = (name: string) => colors.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--text-3'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
    values: (_: Plot, splits: number[]) => splits.map((value) => formatInteger(value)),
  };
  const line = color('--plot-1');
  return new Plot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      cursor: { y: false },
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [
        { ...axis, size: 30 },
        { ...axis, size: 50 },
      ],
      series: [
        { label: 'Slot' },
        {
          label: 'Transactions',
          stroke: line,
          fill: `${line}22`,
          width: 1.5,
          points: { show: false },
        },
      ],
    },
    data,
    box,
  );
}
