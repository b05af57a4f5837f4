import type { BlockHeader } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, makeHeaders, refuse } from '../testing/fake-source.ts';
import type { FollowedSource } from './followed-source.ts';
import { askOpinions, type Claim, judgeFork, type Opinion, type Verdict } from './judge-fork.ts';

/** Only the votes count. The source itself is not used here. */
const source = {} as FollowedSource;
const branch = [41, 42].map((number) => ({ number }) as BlockHeader);

type Views = readonly Opinion['view'][];

function judge(views: Views, claim: Partial<Claim> = {}): Verdict {
  const full: Claim = {
    claimant: source,
    headers: branch,
    headSlot: 41,
    quietMs: 0,
    isRepeated: false,
    ...claim,
  };
  // The claimant's own vote comes first, as when sources are asked.
  return judgeFork(
    full,
    ['holds' as const, ...views].map((view) => ({ source, view })),
  );
}

test.each<[string, Views, Partial<Claim>, Verdict]>([
  ['two of three sources have the branch', ['holds', 'differs'], {}, 'switch'],
  ['all three sources have the branch', ['holds', 'holds'], {}, 'switch'],
  ['both sources that reach its slot have the branch', ['holds', 'unknown'], {}, 'switch'],
  [
    'only one of three has the branch, even after a long time without new blocks',
    ['differs', 'differs'],
    { quietMs: 1e9 },
    'keep',
  ],
  [
    'only one of three has the branch, even repeatedly',
    ['differs', 'differs'],
    { isRepeated: true },
    'keep',
  ],
  ['two of four sources have the branch', ['holds', 'differs', 'differs'], {}, 'wait'],
  ['the only source that reaches its slot reports it once', ['unknown', 'unknown'], {}, 'wait'],
  [
    'the only source that reaches its slot reports it again a slot later',
    ['unknown', 'unknown'],
    { isRepeated: true },
    'switch',
  ],
  ['the only healthy source reports it once', [], {}, 'wait'],
  ['the only healthy source reports it repeatedly', [], { isRepeated: true }, 'switch'],
  ['one of two sources has the branch', ['differs'], {}, 'wait'],
  ['one of two sources reports it again', ['differs'], { isRepeated: true }, 'wait'],
  [
    'one of two has the branch, and ours has not grown for just under 2 s',
    ['differs'],
    { quietMs: 1_999 },
    'wait',
  ],
  [
    'one of two has the branch, and ours has not grown for 2 s while the other grew',
    ['differs'],
    { quietMs: 2_000 },
    'switch',
  ],
  [
    'one of two has the branch, and its newest of three blocks is above our head',
    ['differs'],
    {
      quietMs: 2_000,
      headSlot: 42,
      headers: [41, 42, 43].map((number) => ({ number }) as BlockHeader),
    },
    'switch',
  ],
  [
    'one of two has the branch, and neither branch has grown',
    ['differs'],
    { quietMs: 60_000, headSlot: 42 },
    'wait',
  ],
])('behavior: F-13 the decision about a branch is right if %s', (_name, views, claim, verdict) => {
  expect(judge(views, claim)).toBe(verdict);
});

const { signal } = new AbortController();
const [parent] = makeHeaders('a', [40]);
const shown = makeHeaders('b', [41, 42], parent);

/** Asks one other source for its opinion. */
async function askOne(clock: ManualClock, other: FollowedSource): Promise<readonly Opinion[]> {
  const claimant = makeFakeSource({ clock });
  const claim = { claimant, headers: shown, headSlot: 41, quietMs: 0, isRepeated: false };
  const asking = askOpinions(claim, [claimant, other], { clock, signal });
  await clock.advance(1_000);
  const [own, ...opinions] = await asking;
  expect(own).toEqual({ source: claimant, view: 'holds' });
  return opinions;
}

test('default: a source holds the branch if it has the same first block', async () => {
  const clock = new ManualClock();
  for (const [headers, view] of [
    [shown, 'holds'],
    [makeHeaders('c', [41], parent), 'differs'],
  ] as const) {
    const other = makeFakeSource({ clock, headers });
    expect(await askOne(clock, other)).toEqual([{ source: other, view }]);
  }
});

test.each([
  ['above the slot', 42, 'skipped-hint', 'differs'],
  ['at the slot', 41, 'skipped-hint', 'unknown'],
  ['above the slot', 42, 'outage', 'unknown'],
] as const)(
  'behavior: a source without the block, whose tip is %s (%i, %s), %s',
  async (_, confirmedSlot, reason, view) => {
    const clock = new ManualClock();
    const other = makeFakeSource({ clock, remote: { header: () => refuse(reason) } });
    other.confirmedSlot = confirmedSlot;
    expect(await askOne(clock, other)).toEqual([{ source: other, view }]);
    expect(other.health.status.failures).toBe(reason === 'outage' ? 1 : 0);
  },
);

test('behavior: a source that is not healthy or does not answer has no vote', async () => {
  const clock = new ManualClock();
  const sick = makeFakeSource({ clock, headers: shown, isHealthy: false });
  expect(await askOne(clock, sick)).toEqual([]);
  const header = () => new Promise<never>(() => undefined);
  expect(await askOne(clock, makeFakeSource({ clock, remote: { header } }))).toEqual([]);
});
