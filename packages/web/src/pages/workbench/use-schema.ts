import type { Activity } from '@sluice/client';
import { QUERY_LIMITS, type QueryLimits } from '@sluice/protocol/query-limits';
import { addressName, mintSymbol } from '../../ledger/address-names.ts';
import { describeDiscriminator } from '../../ledger/describe-instruction.ts';
import { clientOf } from '../../state/clients.ts';
import { watchedFetch } from '../../state/connection.ts';
import { statusOf } from '../../state/datasets.ts';
import { useResource } from '../../state/use-resource.ts';
import { checkQuery, type Path, type Problem } from './check-query.ts';
import type { ValueSuggestion } from './editor/editor-options.ts';
import type { JsonObject } from './query-model.ts';

const entryCount = 40;

interface Schema {
  readonly check: (query: JsonObject) => readonly Problem[];
  readonly values: (path: Path) => readonly ValueSuggestion[];
  /** The activity of the dataset, once it is loaded. */
  readonly activity: Activity | undefined;
}

/** Loads what a query may contain: the limits in effect, the dialects of the dataset, and values that occur in it. */
export function useSchema(dataset: string): Schema {
  const described = useResource('limits', async (signal) => {
    const response = await watchedFetch('/openapi.json', { signal });
    return ((await response.json()) as { 'x-limits': QueryLimits })['x-limits'];
  });
  const counted = useResource(dataset, (signal) =>
    clientOf(dataset).activity({ limit: entryCount, signal }),
  );
  const limits = described.kind === 'ready' ? described.value : QUERY_LIMITS;
  const dialects = statusOf(dataset)?.dialects ?? ['ledger'];
  const activity = counted.kind === 'ready' ? counted.value : undefined;
  return {
    check: (query) => checkQuery(query, { dialects, limits }),
    values: (path) => (activity === undefined ? [] : suggestFrom(activity, path)),
    activity,
  };
}

function suggestFrom(activity: Activity, path: Path): readonly ValueSuggestion[] {
  const filter = String(path[2] ?? '');
  if (/^programId$/i.test(filter)) {
    return activity.programs.map(({ programId }) => ({
      value: programId,
      text: addressName(programId) ?? '',
    }));
  }
  if (/mint$/i.test(filter)) {
    return activity.mints.map(({ mint }) => ({ value: mint, text: mintSymbol(mint) ?? '' }));
  }
  if (/^(d\d|discriminator)$/.test(filter)) {
    return activity.discriminators
      .filter(
        ({ discriminator }) =>
          filter === 'discriminator' || discriminator.length === 2 + 2 * Number(filter.slice(1)),
      )
      .map(({ programId, discriminator }) => ({
        value: discriminator,
        text: `${addressName(programId) ?? programId.slice(0, 6)} ${describeDiscriminator(programId, discriminator) ?? ''}`,
      }));
  }
  if (/^(account|mentionsAccount|feePayer|pubkey|owner|a\d+|(pre|post)Owner)$/.test(filter)) {
    return activity.accounts.map(({ account }) => ({
      value: account,
      text: addressName(account) ?? '',
    }));
  }
  return [];
}
