import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { LedgerNode, type LedgerNodeOptions } from '../source/ledger-node.ts';
import type { Answer } from '../source/rpc-refusal.ts';
import { SlotWatcher } from '../source/slot-watcher.ts';
import { SourceHealth } from '../source/source-health.ts';

export interface FollowedSourceOptions extends LedgerNodeOptions {
  /** Where slot notifications may be had, in the order to try; none means polling. */
  readonly wsUrls: readonly string[];
}

/** One node that is followed: what it says, when it is worth asking, and how it fares. */
export class FollowedSource {
  readonly node: LedgerNode;
  readonly watcher: SlotWatcher;
  readonly health: SourceHealth;
  /** Whether it is known to serve the ledger of the dataset. */
  isGenesisChecked = false;
  /** The newest slots it reported; -1 before it did. */
  finalizedSlot = -1;
  confirmedSlot = -1;

  constructor(
    options: FollowedSourceOptions,
    modules: { readonly clock: Clock; readonly random: Random },
  ) {
    this.node = new LedgerNode(options, modules);
    this.watcher = new SlotWatcher({ urls: options.wsUrls, headers: options.headers }, modules);
    this.health = new SourceHealth(options.name, modules);
  }

  get name(): string {
    return this.node.name;
  }

  /** Notes how the source answered, whatever it was; what is merely not there yet is a good answer. */
  note<Value>(answer: Answer<Value>): Answer<Value> {
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
