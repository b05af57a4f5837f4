import {
  openSource,
  type SourceDependencies,
  type SourceOptions,
} from '../../source/open-source.ts';
import type { SourceResult } from '../../source/refusal.ts';
import type { SlotNotices, Source } from '../../source/source.ts';
import { SourceHealth } from '../../source/source-health.ts';
import { DueTimes } from './due-times.ts';

/** A source that is followed, with its notifications, its health and what it has reported. */
export class FollowedSource {
  readonly remote: Source;
  readonly notices: SlotNotices;
  readonly health: SourceHealth;
  /** Predicts when the next block can be requested. */
  readonly due = new DueTimes();
  /** Whether the source is known to serve the ledger of the dataset. */
  isGenesisChecked = false;
  /** The newest slots that the source reported; -1 before the first report. */
  finalizedSlot = -1;
  confirmedSlot = -1;

  constructor(options: SourceOptions, dependencies: SourceDependencies) {
    this.remote = openSource(options, dependencies);
    this.notices = this.remote.notices ?? noNotices;
    this.health = new SourceHealth(options.name, dependencies);
  }

  /** Records that a block was returned to a request that was sent at that time. */
  learn(slot: number, requestedMs: number): void {
    const announcedMs = this.notices.announcedMs(slot);
    if (announcedMs !== undefined && !this.remote.isRateLimited) {
      this.due.learn(requestedMs - announcedMs);
    }
  }

  get name(): string {
    return this.remote.name;
  }

  /** Records in the health of the source how it answered, and returns the answer. A missing block is a good answer. */
  note<Value>(answer: SourceResult<Value>): SourceResult<Value> {
    if (answer.kind === 'ok' || harmless.has(answer.reason)) this.health.answered();
    else if (answer.reason === 'malformed') this.health.strike(answer.cause);
    else this.health.fail(answer);
    return answer;
  }
}

const harmless: ReadonlySet<string> = new Set([
  'not-available',
  'skipped-hint',
  'pending',
  'pruned',
]);

/** The notifications of a source that has none. */
const noNotices: SlotNotices = {
  isLive: false,
  highest: -1,
  announcedMs: () => undefined,
  announcedAbove: () => [],
  above: () => Promise.resolve(),
  run: () => Promise.resolve(),
};
