import { formatInteger, plural } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import type { PageProps } from '../../page-props.ts';
import { clientOf } from '../../state/clients.ts';
import { route } from '../../state/router.ts';
import { useResource } from '../../state/use-resource.ts';
import { ActivityLists } from './activity-lists.tsx';
import { RangeForm, readRange } from './range-form.tsx';
import './activity.css';

const entryCount = 50;

/** Shows the activity of a dataset: the most frequent programs, instructions, mints and accounts of a range. */
export function ActivityPage({ parameters }: PageProps) {
  const [dataset = ''] = parameters;
  useTitle(`Activity · ${dataset}`);
  const range = readRange(route.value.search);
  const resource = useResource(`${dataset}/${range.from}/${range.to}`, (signal) =>
    clientOf(dataset).activity({ ...range, limit: entryCount, signal }),
  );
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>Activity</h1>
          <p>The programs, instructions, tokens and accounts that occur most often in {dataset}.</p>
        </div>
        <RangeForm key={route.value.search} dataset={dataset} range={range} />
      </div>
      {resource.kind === 'loading' && <PanelSkeleton lines={16} />}
      {resource.kind === 'failed' && <ErrorNotice error={resource.error} retry={resource.retry} />}
      {resource.kind === 'ready' && (
        <>
          <p class="muted">
            {plural(resource.value.transactions, 'transaction')} in{' '}
            {plural(resource.value.blocks, 'block')}, slots{' '}
            {formatInteger(resource.value.fromBlock)} to {formatInteger(resource.value.toBlock)}.
            {!resource.value.isComplete &&
              ' The range is too long for one request, so only its newest blocks were counted. Choose an earlier range to see others.'}
          </p>
          <ActivityLists dataset={dataset} activity={resource.value} />
        </>
      )}
    </div>
  );
}
