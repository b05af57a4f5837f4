/** A source in memory for unit tests: it answers from a list of headers, and a test replaces single answers. */
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import type { BlockHeader } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { type RefusalReason, refusal, type SourceResult } from '@sluice/source/refusal';
import type { Commitment, SlotNotices, Source } from '@sluice/source/source';
import { SourceHealth } from '@sluice/source/source-health';
import { applyChanges } from '../../chain/apply-changes.ts';
import { type ChainSnapshot, emptySnapshot } from '../../chain/chain-snapshot.ts';
import { refOf } from '../../chain/find-blocks.ts';
import { makeRun } from '../../chain/testing/chain-fixtures.ts';
import { DueTimes, FollowedSource } from '../follow/followed-source.ts';

export interface FakeSourceOptions {
  readonly name?: string;
  readonly clock: Clock;
  readonly headers?: readonly BlockHeader[];
  readonly remote?: Partial<Source>;
  readonly notices?: Partial<SlotNotices>;
  /** Whether it has responded before, so that it takes part in votes; true by default. */
  readonly isHealthy?: boolean;
}

export const ok = <Value>(value: Value): SourceResult<Value> => ({ kind: 'ok', value });

export const refuse = (reason: RefusalReason, cause = reason as string) =>
  Promise.resolve(refusal(reason, cause));

/** Returns a source that has the blocks with these headers. */
export function makeFakeSource(options: FakeSourceOptions): FollowedSource {
  const { name = 'fake', clock, headers = [] } = options;
  const numbers = headers.map(({ number }) => number).sort((a, b) => a - b);
  const remote: Partial<Source> = {
    name,
    format: 'node',
    isRateLimited: false,
    slot: async () => ok(toSlot(numbers.at(-1) ?? 0)),
    firstAvailable: async () => ok(toSlot(numbers[0] ?? 0)),
    listSlots: async ({ first, last }, commitment) => {
      checkCommitment(commitment);
      return ok(numbers.filter((one) => one >= first && one <= last));
    },
    header: async (slot, commitment) => {
      checkCommitment(commitment);
      const found = headers.find(({ number }) => number === toSlot(slot));
      return found === undefined ? refusal('skipped-hint', 'code -32009') : ok(found);
    },
    giveBack: () => undefined,
    close: async () => undefined,
    ...options.remote,
  };
  const notices = { isLive: false, highest: -1, ...options.notices };
  const health = new SourceHealth(name, { clock, random: Random.fromSeed(1) });
  if (options.isHealthy !== false) health.responded();
  return Object.assign(Object.create(FollowedSource.prototype) as FollowedSource, {
    remote,
    notices,
    health,
    due: new DueTimes(),
    isGenesisChecked: false,
    finalizedSlot: -1,
    confirmedSlot: -1,
  });
}

/** Throws like a node that gets a wrong parameter. */
function checkCommitment(commitment: Commitment): void {
  assert(commitment === 'confirmed' || commitment === 'finalized', 'the commitment is known');
}

/** Returns the headers of a linked run, whose hashes encode branch and slot, above a header. */
export function makeHeaders(
  branch: string,
  slots: readonly number[],
  parent: BlockHeader | null = null,
): BlockHeader[] {
  return makeRun(branch, slots, parent).map(({ header }) => header);
}

/** Returns a chain that starts above the first header, with the other headers as hot blocks. */
export function makeSnapshot(
  [anchor, ...headers]: readonly BlockHeader[],
  finalized?: BlockHeader,
): ChainSnapshot {
  const blocks = headers.map((header) => ({ header, payload: header.number }));
  const created = { kind: 'create' as const, anchor: anchor === undefined ? null : refOf(anchor) };
  const started = applyChanges(emptySnapshot, [created]);
  const extended =
    blocks.length === 0 ? started : applyChanges(started, [{ kind: 'extend', blocks }]);
  if (finalized === undefined) return extended;
  return applyChanges(extended, [{ kind: 'finalize', block: refOf(finalized) }]);
}
