import type { Activity } from '@sluice/client';
import { formatInteger } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { describeDiscriminator } from '../../ledger/describe-instruction.ts';
import { clientOf } from '../../state/clients.ts';
import { useResource } from '../../state/use-resource.ts';
import { CountList } from '../activity/count-list.tsx';
import { workbenchLink } from '../workbench/query-link.ts';
import { queryInstruction } from '../workbench/sample-queries.ts';

/** The maximum number of entries of one request. The instructions of rarely used programs may not be among them. */
const entryCount = 100;

interface ProgramInstructionsProps {
  readonly dataset: string;
  readonly programId: string;
}

/** The instructions of a program among the most frequent ones of the dataset. */
export function ProgramInstructions({ dataset, programId }: ProgramInstructionsProps) {
  const resource = useResource(`${dataset}/${programId}`, (signal) =>
    clientOf(dataset).activity({ limit: entryCount, signal }),
  );
  if (resource.kind === 'loading') return <PanelSkeleton lines={4} />;
  if (resource.kind === 'failed')
    return <ErrorNotice error={resource.error} retry={resource.retry} slim />;
  return <Instructions dataset={dataset} programId={programId} activity={resource.value} />;
}

interface InstructionsProps extends ProgramInstructionsProps {
  readonly activity: Activity;
}

function Instructions({ dataset, programId, activity }: InstructionsProps) {
  const rows = activity.discriminators.filter((row) => row.programId === programId);
  const range = { fromBlock: activity.fromBlock, toBlock: activity.toBlock };
  if (rows.length === 0) {
    return (
      <p class="callout">
        No instruction of this program is among the {entryCount} most frequent ones of slots{' '}
        {formatInteger(activity.fromBlock)} to {formatInteger(activity.toBlock)}. A query finds
        rarer ones.
      </p>
    );
  }
  return (
    <CountList
      title="Instructions"
      note={`For slots ${formatInteger(activity.fromBlock)} to ${formatInteger(activity.toBlock)}. Only instructions among the ${entryCount} most frequent of all programs are listed; a query finds the others.`}
      total={activity.transactions}
      isExact={activity.exact.discriminators}
      rows={rows.map(({ discriminator, transactions }) => ({
        key: discriminator,
        label: (
          <>
            {describeDiscriminator(programId, discriminator)}{' '}
            <code class="muted">{discriminator}</code>
          </>
        ),
        transactions,
        href: workbenchLink(dataset, queryInstruction(programId, discriminator, range)),
      }))}
    />
  );
}
