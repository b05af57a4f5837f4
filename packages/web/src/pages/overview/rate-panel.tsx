import { formatRate } from '../../base/format.ts';
import { Sparkline } from '../../components/sparkline.tsx';
import { useRates } from './use-rates.ts';

interface RatePanelProps {
  readonly dataset: string;
  readonly head: number | null;
  readonly start: number;
}

export function RatePanel({ dataset, head, start }: RatePanelProps) {
  const series = useRates(dataset, head, start);
  return (
    <div class="rates">
      <Rate title="Blocks / s" values={series.map(({ blocks }) => blocks)} color="var(--plot-1)" />
      <Rate
        title="Transactions / s"
        values={series.map(({ transactions }) => transactions)}
        color="var(--plot-2)"
      />
    </div>
  );
}

interface RateProps {
  readonly title: string;
  readonly values: readonly number[];
  readonly color: string;
}

/** The displayed rate is the mean of this many samples, so that it does not flicker. */
const meanCount = 5;

function Rate({ title, values, color }: RateProps) {
  const recent = values.slice(-meanCount);
  const mean = recent.reduce((sum, value) => sum + value, 0) / recent.length;
  const text = recent.length === 0 ? '–' : formatRate(mean);
  return (
    <div class="rate">
      <span class="rate-title">{title}</span>
      <strong class="rate-value">{text}</strong>
      <Sparkline
        values={values}
        color={color}
        label={`${title} over the last minute, now ${text}`}
      />
    </div>
  );
}
