import type { Clock } from '@sluice/base/clock';
import type { SourceIdentity } from '@sluice/source/source';
import type { Dataset } from '../../dataset/dataset.ts';
import type { FollowedSource } from './followed-source.ts';

/**
 * Determines the ledger by its genesis hash: the hash that the dataset has stored, or else the hash that most sources report. Sources of another
 * ledger are disabled. Sources that do not respond are asked again before they are used.
 */
export async function agreeOnGenesis(
  sources: readonly FollowedSource[],
  { dataset, clock }: { readonly dataset: Dataset; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !sources.some(({ isGenesisChecked }) => isGenesisChecked)) {
    const responses = new Map<FollowedSource, SourceIdentity>();
    await Promise.all(
      sources.map(async (source) => {
        if (!source.health.isReady) return;
        const response = source.note(await source.remote.identity(signal));
        if (response.kind === 'ok') responses.set(source, response.value);
      }),
    );
    const hashes = [...responses.values()].flatMap(({ genesisHash }) => genesisHash ?? []);
    const genesisHash = dataset.description.genesisHash ?? mostCommon(hashes);
    if (genesisHash !== undefined) await dataset.adoptGenesis(genesisHash);
    for (const [source, identity] of responses) checkIdentity(source, identity, dataset);
    if (sources.every(({ health, isGenesisChecked }) => isGenesisChecked || health.isDisabled))
      return;
    if (!sources.some(({ isGenesisChecked }) => isGenesisChecked))
      await clock.sleep(retryMs, signal);
  }
}

/** Checks the sources that have not responded yet, because one of them may have the blocks that the others lack. */
export async function checkRemaining(
  sources: readonly FollowedSource[],
  dataset: Dataset,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    sources.map(async (source) => {
      if (source.isGenesisChecked || !source.health.isReady) return;
      const response = source.note(await source.remote.identity(signal));
      if (response.kind === 'ok') checkIdentity(source, response.value, dataset);
    }),
  );
}

/** Disables a source that serves another ledger, or that does not have everything that the dataset stores. */
export function checkIdentity(
  source: FollowedSource,
  { genesisHash, content }: SourceIdentity,
  { description, alarms }: Dataset,
): void {
  const { votes, allowMissing, genesisHash: storedHash } = description;
  source.isGenesisChecked = false;
  // A portal that was filled from files does not know its genesis hash. The links of its blocks are checked anyway.
  if (genesisHash !== null && storedHash !== null && genesisHash !== storedHash) {
    source.health.disable('it serves another ledger');
    alarms.raise('dataset-genesis-differs', `${source.name} serves another ledger`);
    return;
  }
  const kinds: readonly string[] = allowMissing;
  const isWhole = content === null || content.allowMissing.every((kind) => kinds.includes(kind));
  if (isWhole && (content === null || content.votes === votes)) {
    source.isGenesisChecked = true;
    return;
  }
  const theirs = `votes ${content?.votes}, allow-missing ${content?.allowMissing.join(',') || 'none'}`;
  source.health.disable(`it stores other records than the dataset: ${theirs}`);
  const ours = `votes ${votes}, allow-missing ${kinds.join(',') || 'none'}`;
  alarms.raise('portal-content-differs', `${source.name} has ${theirs}; the dataset has ${ours}`);
}

const retryMs = 250;

function mostCommon(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
