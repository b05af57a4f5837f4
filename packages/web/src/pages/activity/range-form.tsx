import { useState } from 'preact/hooks';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';
import { navigate } from '../../state/router.ts';

export interface SlotRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Parses the range in the address, and ignores values that are not slots. */
export function readRange(search: string): SlotRange {
  const parameters = new URLSearchParams(search);
  const read = (name: string) => parseSlot(parameters.get(name) ?? '');
  return { from: read('from'), to: read('to') };
}

function parseSlot(text: string): number | undefined {
  const digits = text.replaceAll(/[,_\s]/g, '');
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

interface RangeFormProps {
  readonly dataset: string;
  readonly range: SlotRange;
}

const recentSlotCounts = [1_000, 10_000, 100_000] as const;

export function RangeForm({ dataset, range }: RangeFormProps) {
  const [from, setFrom] = useState(range.from === undefined ? '' : String(range.from));
  const [to, setTo] = useState(range.to === undefined ? '' : String(range.to));
  const head = statusOf(dataset)?.head?.number ?? 0;
  const open = (next: SlotRange) => {
    const parameters = new URLSearchParams();
    if (next.from !== undefined) parameters.set('from', String(next.from));
    if (next.to !== undefined) parameters.set('to', String(next.to));
    const text = parameters.toString();
    navigate(`${pagePath.activity(dataset)}${text === '' ? '' : `?${text}`}`);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    open({ from: parseSlot(from), to: parseSlot(to) });
  };
  return (
    <form class="row range-form" onSubmit={submit}>
      <input
        class="input"
        inputMode="numeric"
        aria-label="First slot"
        placeholder="first slot"
        value={from}
        onInput={(event) => setFrom(event.currentTarget.value)}
      />
      <span aria-hidden="true">–</span>
      <input
        class="input"
        inputMode="numeric"
        aria-label="Last slot"
        placeholder="head"
        value={to}
        onInput={(event) => setTo(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Count
      </button>
      <select
        class="select"
        aria-label="Recent slots"
        value=""
        onChange={(event) => {
          const count = Number(event.currentTarget.value);
          open(count === 0 ? {} : { from: Math.max(0, head - count) });
        }}
      >
        <option value="" disabled>
          Recent…
        </option>
        {recentSlotCounts.map((count) => (
          <option key={count} value={count}>
            last {count.toLocaleString('en-US')} slots
          </option>
        ))}
        <option value="0">everything</option>
      </select>
    </form>
  );
}
