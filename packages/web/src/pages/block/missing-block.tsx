import { formatInteger } from '../../base/format.ts';
import { Notice } from '../../components/notice.tsx';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';

interface MissingBlockProps {
  readonly dataset: string;
  readonly slot: number;
  /** The error code with the reason why there is no block. */
  readonly code: string;
}

export function MissingBlock({ dataset, slot, code }: MissingBlockProps) {
  const status = statusOf(dataset);
  return (
    <div class="panel">
      <Notice title={titleOf(code, slot)}>
        <p>{explain(code, status?.head?.number, status?.start_block)}</p>
        <div class="row">
          {code === 'slot-skipped' &&
            [slot - 1, slot + 1]
              .filter((near) => near >= 0)
              .map((near) => (
                <a key={near} class="button" href={pagePath.block(dataset, near)}>
                  Slot {formatInteger(near)}
                </a>
              ))}
          {status?.head != null && (
            <a class="button" href={pagePath.block(dataset, status.head.number)}>
              The head
            </a>
          )}
        </div>
      </Notice>
    </div>
  );
}

function titleOf(code: string, slot: number): string {
  const name = `Slot ${formatInteger(slot)}`;
  if (code === 'slot-skipped') return `${name} was skipped`;
  return code === 'slot-above-head' ? `${name} is above the head` : `${name} is not stored`;
}

function explain(code: string, head: number | undefined, start: number | undefined): string {
  switch (code) {
    case 'slot-skipped':
      return 'No validator produced a block in this slot, or its block was orphaned.';
    case 'slot-above-head':
      return `The newest block of the dataset is in slot ${formatInteger(head ?? 0)}. The page can be opened again once the ledger gets there.`;
    default:
      return `The dataset begins at slot ${formatInteger(start ?? 0)}.`;
  }
}
