import type { Clock } from '../base/clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { SourceIdentity } from '../source/source-node.ts';
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
    const answers = new Map<FollowedSource, SourceIdentity>();
    await Promise.all(
      sources.map(async (source) => {
        if (!source.health.isReady) return;
        const answer = source.note(await source.node.identity(signal));
        if (answer.kind === 'ok') answers.set(source, answer.value);
      }),
    );
    const told = [...answers.values()].flatMap(({ genesisHash }) => genesisHash ?? []);
    const genesisHash = dataset.description.genesisHash ?? mostCommon(told);
    if (genesisHash !== undefined) await dataset.adoptGenesis(genesisHash);
    for (const [source, identity] of answers) checkIdentity(source, identity, dataset);
    if (sources.every(({ health, isGenesisChecked }) => isGenesisChecked || health.isDisabled))
      return;
    if (!sources.some(({ isGenesisChecked }) => isGenesisChecked))
      await clock.sleep(retryMs, signal);
  }
}

/** Disables a source that serves another ledger, or not all that the dataset keeps of it. */
export function checkIdentity(
  source: FollowedSource,
  { genesisHash, content }: SourceIdentity,
  { description, alarms }: Dataset,
): void {
  const { votes, allowMissing, genesisHash: own } = description;
  source.isGenesisChecked = false;
  // A portal that was fed from files does not know its ledger; the links of its blocks must do.
  if (genesisHash !== null && own !== null && genesisHash !== own) {
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
  const theirs = `votes ${content?.votes}, may lack ${content?.allowMissing.join(', ') || 'nothing'}`;
  source.health.disable(`it keeps other content: ${theirs}`);
  const ours = `votes ${votes}, may lack ${kinds.join(', ') || 'nothing'}`;
  alarms.raise('portal-content-differs', `${source.name} keeps ${theirs}; the dataset ${ours}`);
}

const retryMs = 250;

function mostCommon(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
