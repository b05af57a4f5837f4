interface SparklineProps {
  readonly values: readonly number[];
  /** The text for screen readers. */
  readonly label: string;
  readonly color?: string;
}

const width = 200;
const height = 40;
/** Keeps the line inside the drawing. */
const margin = 2;

/** A line without axes that shows the last values, the newest on the right. */
export function Sparkline({ values, label, color = 'var(--plot-1)' }: SparklineProps) {
  const points = toPoints(values);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {points === '' ? (
        <line x1="0" y1={height - margin} x2={width} y2={height - margin} class="sparkline-empty" />
      ) : (
        <>
          <path d={`M0,${height}L${points}L${width},${height}Z`} fill={color} opacity="0.13" />
          <path d={`M${points}`} fill="none" stroke={color} class="sparkline-line" />
        </>
      )}
    </svg>
  );
}

function toPoints(values: readonly number[]): string {
  if (values.length < 2) return '';
  // The maximum is above the values, so that a steady rate is not drawn along the top edge.
  const top = 1.3 * Math.max(...values, Number.MIN_VALUE);
  const step = width / (values.length - 1);
  return values
    .map((value, i) => {
      const y = height - margin - (value / top) * (height - 2 * margin);
      return `${(i * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join('L');
}
