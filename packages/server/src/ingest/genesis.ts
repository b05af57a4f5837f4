import type { Clock } from '../base/clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { FollowedSource } from './followed-source.ts';

/**
 * Which ledger this is: the dataset's own word, else what most of the sources say. Sources that serve another one are
 * disabled; those that do not answer are asked again before they are used.
 */
export async function agreeOnGenesis(
  sources: readonly FollowedSource[],
  { dataset, clock }: { readonly dataset: Dataset; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !sources.some(({ isGenesisChecked }) => isGenesisChecked)) {
    const answers = new Map<FollowedSource, string>();
    await Promise.all(
      sources.map(async (source) => {
        if (!source.health.isReady) return;
        const answer = source.note(await source.node.genesisHash(signal));
        if (answer.kind === 'ok') answers.set(source, answer.value);
      }),
    );
    const genesisHash = dataset.description.genesisHash ?? mostCommon([...answers.values()]);
    if (genesisHash !== undefined) await dataset.adoptGenesis(genesisHash);
    for (const [source, hash] of answers) {
      source.isGenesisChecked = hash === genesisHash;
      if (source.isGenesisChecked) continue;
      source.health.disable('it serves another ledger');
      dataset.alarms.raise('dataset-genesis-differs', `${source.name} serves another ledger`);
    }
    if (sources.every(({ health, isGenesisChecked }) => isGenesisChecked || health.isDisabled))
      return;
    if (!sources.some(({ isGenesisChecked }) => isGenesisChecked))
      await clock.sleep(retryMs, signal);
  }
}

const retryMs = 250;

function mostCommon(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
