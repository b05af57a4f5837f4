import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { FetchThread } from '../source/fetch-thread.ts';
import { LedgerNode, type LedgerNodeOptions } from '../source/ledger-node.ts';
import { PortalNode, type PortalNodeOptions } from '../source/portal-node.ts';
import type { Answer } from '../source/rpc-refusal.ts';
import { SlotWatcher } from '../source/slot-watcher.ts';
import { SourceHealth } from '../source/source-health.ts';
import { DueTimes } from './due-times.ts';

/** A node, by JSON-RPC. */
export interface RpcSourceOptions extends LedgerNodeOptions {
  readonly kind?: 'rpc';
  /** Where slot notifications may be had, in the order to try; none means polling. */
  readonly wsUrls: readonly string[];
}

/** Another Sluice. */
export interface PortalSourceOptions extends PortalNodeOptions {
  readonly kind: 'portal';
}

export type FollowedSourceOptions = RpcSourceOptions | PortalSourceOptions;

export interface FollowedSourceModules {
  readonly clock: Clock;
  readonly random: Random;
  /** Reads blocks, so that this thread does not. */
  readonly fetchThread?: FetchThread;
  /** Told once of a source whose WebSocket does not speak, so that it is polled. */
  readonly onPolled?: (sourceName: string) => void;
  /** Receives how long each call to a source took, also of calls that failed. */
  readonly observeSourceCall?: (sourceName: string, call: string, seconds: number) => void;
}

/** One source that is followed: what it says, when it is worth asking, and how it fares. */
export class FollowedSource {
  readonly node: LedgerNode | PortalNode;
  readonly watcher: SlotWatcher;
  readonly health: SourceHealth;
  /** When its next block may come. */
  readonly due = new DueTimes();
  /** Whether it may be asked as often as blocks may come. */
  readonly #isUnlimited: boolean;
  /** Whether it is known to serve the ledger of the dataset. */
  isGenesisChecked = false;
  /** The newest slots it reported; -1 before it did. */
  finalizedSlot = -1;
  confirmedSlot = -1;

  constructor(options: FollowedSourceOptions, modules: FollowedSourceModules) {
    const isPortal = options.kind === 'portal';
    const nodeModules = {
      ...modules,
      observeCall: (call: string, seconds: number) =>
        modules.observeSourceCall?.(options.name, call, seconds),
    };
    this.node = isPortal
      ? new PortalNode(options, nodeModules)
      : new LedgerNode(options, nodeModules);
    // The stream of a portal wakes by itself.
    const onMute = () => modules.onPolled?.(options.name);
    const watched = isPortal
      ? { urls: [] }
      : { urls: options.wsUrls, headers: options.headers, onMute };
    this.watcher = new SlotWatcher(watched, modules);
    this.health = new SourceHealth(options.name, modules);
    this.#isUnlimited = isPortal || options.callsPerSecond === undefined;
  }

  /** A block came to a question of that time. */
  learn(slot: number, askedMs: number): void {
    const announcedMs = this.watcher.announcedMs(slot);
    if (announcedMs !== undefined && this.#isUnlimited) this.due.learn(askedMs - announcedMs);
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
