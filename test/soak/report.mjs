/** Tables and plots of the samples of a soak. */

const rowCount = 12;
const bars = '▁▂▃▄▅▆▇█';
const plotColumns = 60;

const namesOf = (samples) => Object.keys(samples[0] ?? {}).filter((name) => name !== 'ms');

/** Returns samples as a table of a few rows, and a line of bars for each measurement. */
export function describeSamples(samples) {
  const names = namesOf(samples);
  const step = Math.max(1, Math.ceil(samples.length / rowCount));
  const rows = samples.filter((_, i) => i % step === 0 || i === samples.length - 1);
  const cells = [
    ['minute', ...names],
    ...rows.map((row) => [
      (row.ms / 60_000).toFixed(1),
      ...names.map((name) => row[name].toFixed(name === 'disk/live' ? 2 : 0)),
    ]),
  ];
  const widths = cells[0].map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const table = cells.map((row) => row.map((cell, i) => cell.padStart(widths[i])).join('  '));
  const plots = names.map((name) => `${name.padEnd(12)} ${plot(samples.map((row) => row[name]))}`);
  return `${[...table, '', ...plots].join('\n')}\n`;
}

function plot(values) {
  const size = Math.max(1, Math.ceil(values.length / plotColumns));
  const max = Math.max(...values, 1e-9);
  let text = '';
  for (let i = 0; i < values.length; i += size) {
    const highest = Math.max(...values.slice(i, i + size));
    text += bars[Math.min(bars.length - 1, Math.floor((highest / max) * bars.length))];
  }
  return `${text} max ${max.toFixed(max < 10 ? 2 : 0)}`;
}

/** Returns by which share of its mean a measurement grows during the last period, by linear regression. */
export function slopeOf(samples, name, periodMs) {
  const endMs = samples.at(-1)?.ms ?? 0;
  const used = samples.filter(({ ms }) => ms >= endMs - periodMs);
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [meanMs, meanValue] = [mean(used.map(({ ms }) => ms)), mean(used.map((row) => row[name]))];
  let [products, squares] = [0, 0];
  for (const row of used) {
    products += (row.ms - meanMs) * (row[name] - meanValue);
    squares += (row.ms - meanMs) ** 2;
  }
  const spanMs = endMs - (used[0]?.ms ?? 0);
  return squares === 0 ? 0 : ((products / squares) * spanMs) / meanValue;
}

/** Returns an SVG image with a plot of each measurement. */
export function drawSamples(samples) {
  const [width, height] = [640, 90];
  const endMs = samples.at(-1)?.ms ?? 1;
  const plots = namesOf(samples).map((name, i) => {
    const max = Math.max(...samples.map((row) => row[name]), 1e-9);
    const points = samples.map(
      (row) =>
        `${((row.ms / endMs) * width).toFixed(1)},${(height - 20 - (row[name] / max) * (height - 30)).toFixed(1)}`,
    );
    const label = `<text x="0" y="${height - 5}">${name}, max ${max.toFixed(max < 10 ? 2 : 0)}</text>`;
    const line = `<polyline fill="none" stroke="currentColor" points="${points.join(' ')}"/>`;
    return `<g transform="translate(10 ${i * height})">${line}${label}</g>`;
  });
  const size = `width="${width + 20}" height="${plots.length * height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12">${plots.join('')}</svg>\n`;
}
