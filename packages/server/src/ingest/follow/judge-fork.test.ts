import { expect, test } from 'vitest';
import type { BlockHeader } from '../../ledger/block.ts';
import type { FollowedSource } from './followed-source.ts';
import { type Claim, judgeFork, type Opinion, type Verdict } from './judge-fork.ts';

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
  ['two of three hold it', ['holds', 'differs'], {}, 'switch'],
  ['all three hold it', ['holds', 'holds'], {}, 'switch'],
  ['two of two that reach that far hold it', ['holds', 'unknown'], {}, 'switch'],
  [
    'one alone of three, however long it is quiet',
    ['differs', 'differs'],
    { quietMs: 1e9 },
    'keep',
  ],
  ['one alone of three, however often', ['differs', 'differs'], { isRepeated: true }, 'keep'],
  ['two of four', ['holds', 'differs', 'differs'], {}, 'wait'],
  ['the only one that reaches that far says it once', ['unknown', 'unknown'], {}, 'wait'],
  ['and says it again a slot later', ['unknown', 'unknown'], { isRepeated: true }, 'switch'],
  ['no other source is healthy, once', [], {}, 'wait'],
  ['no other source is healthy, repeatedly', [], { isRepeated: true }, 'switch'],
  ['one against one', ['differs'], {}, 'wait'],
  ['one against one, said again', ['differs'], { isRepeated: true }, 'wait'],
  ['one against one, ours quiet for just under 2 s', ['differs'], { quietMs: 1_999 }, 'wait'],
  ['one against one, ours quiet for 2 s while it grew', ['differs'], { quietMs: 2_000 }, 'switch'],
  ['one against one, both quiet', ['differs'], { quietMs: 60_000, headSlot: 42 }, 'wait'],
])('behavior: F-13 %s', (_name, views, claim, verdict) => {
  expect(judge(views, claim)).toBe(verdict);
});
