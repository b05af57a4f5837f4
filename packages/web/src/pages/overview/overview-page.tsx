import { plural } from '../../base/format.ts';
import { Notice } from '../../components/notice.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import { datasets } from '../../state/datasets.ts';
import { DatasetCard } from './dataset-card.tsx';
import './overview.css';

export function OverviewPage() {
  useTitle('Overview');
  const all = datasets.value;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Overview</h1>
          <p>{all === undefined ? 'Reading the datasets…' : summarize(all)}</p>
        </div>
      </div>
      {all === undefined ? (
        <div class="cards">
          <PanelSkeleton lines={8} />
          <PanelSkeleton lines={8} />
        </div>
      ) : all.length === 0 ? (
        <div class="panel">
          <Notice title="No dataset is being served" slim>
            <p>
              A dataset appears here once it is open and has its first block.{' '}
              <a href="/docs/cli">The commands</a> say how to follow a node or import blocks.
            </p>
          </Notice>
        </div>
      ) : (
        <div class="cards">
          {all.map((status) => (
            <DatasetCard key={status.dataset} status={status} />
          ))}
        </div>
      )}
    </>
  );
}

function summarize(all: readonly { readonly alarms: readonly unknown[] }[]): string {
  const alarmCount = all.reduce((sum, { alarms }) => sum + alarms.length, 0);
  const state = alarmCount === 0 ? 'no alarms' : plural(alarmCount, 'alarm');
  return `${plural(all.length, 'dataset')}, ${state}`;
}
