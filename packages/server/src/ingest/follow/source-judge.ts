/** Judges what one source delivers: counts its faults, raises alarms for them, and clears the alarms when it delivers again. */
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import type { CodedError } from '@sluice/base/errors';
import type { BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { AlarmBoard } from '../../dataset/alarm-board.ts';
import { type AlarmCode, GROWTH_ALARMS, isAlarmCode } from '../../dataset/alarm-codes.ts';
import type { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import type { LoadedBlock } from './block-loader.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import type { FollowedSource } from './followed-source.ts';
import { headSlot } from './own-blocks.ts';
import type { TipAgreement } from './tip-agreement.ts';

export interface JudgeDependencies {
  readonly source: FollowedSource;
  readonly feeder: ChainFeeder;
  readonly alarms: AlarmBoard;
  readonly counters: IngestCounters;
  readonly clock: Clock;
  readonly agreement: TipAgreement;
}

/** An incomplete block is requested again after this time, and is an alarm if it stays incomplete for longer. */
const incompleteRetryMs = 1_000;
const incompleteAlarmMs = 30_000;

export class SourceJudge {
  readonly #dependencies: JudgeDependencies;
  #isContradicting = false;
  /** The block that the source delivers only in part, and since when. */
  #incomplete: { readonly slot: Slot | undefined; readonly sinceMs: number } | undefined;

  constructor(dependencies: JudgeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Records wrong data of the source. Returns false, the result of a step without progress. */
  strike(code: AlarmCode, fault: string): false {
    const { source, alarms } = this.#dependencies;
    source.health.strike(fault);
    alarms.raise(code, `${source.name}: ${fault}`);
    return false;
  }

  /** Records wrong data that an error describes. */
  strikeFor(error: CodedError, slot?: Slot): false {
    const where = slot === undefined ? '' : `slot ${slot}: `;
    return this.strike(alarmOf(error), `${where}${error.message}`);
  }

  /** Records that the source shows other blocks than the finalized ones. */
  strikeForFinality(fault: string): false {
    this.#isContradicting = true;
    return this.strike('source-contradicts-finality', fault);
  }

  /** Records that the source names a parent block that it does not have. */
  noteHole(slot: Slot): void {
    const { source, alarms } = this.#dependencies;
    const fault = `it names slot ${slot} as a parent but reports no block there`;
    source.health.fail({ kind: 'refused', reason: 'outage', cause: fault });
    alarms.raise('source-hole', `${source.name}: ${fault}`);
  }

  /** Records that the source has the blocks of our chain, so that an earlier contradiction is resolved. */
  noteAgreement(): void {
    if (!this.#isContradicting) return;
    this.#isContradicting = false;
    this.#dependencies.alarms.clear('source-contradicts-finality');
  }

  noteGrowth(): void {
    const { source, alarms } = this.#dependencies;
    source.health.praise();
    for (const code of GROWTH_ALARMS) alarms.clear(code);
    this.noteAgreement();
  }

  /** Returns whether enough sources have a block. Counts it against this source if the others have another one. */
  async isAgreed(block: BlockRef, signal: AbortSignal): Promise<boolean> {
    const { agreement, source } = this.#dependencies;
    const outcome = await agreement.reach(block, source, signal);
    if (outcome === 'contradicted') {
      this.strike('source-disagrees', `others have another block at slot ${block.number}`);
    }
    return outcome === 'reached';
  }

  /** Judges a block that could not be loaded. */
  rejectLoad(loaded: Exclude<LoadedBlock, { kind: 'loaded' }>): false {
    if (loaded.kind === 'damaged') return this.#rejectBlock(loaded);
    this.#dependencies.source.note(loaded.refusal);
    return false;
  }

  /** Judges a linked block that the rules of the chain rejected. */
  rejectCommit({ header }: PreparedBlock, error: CodedError): false {
    // The source is not at fault if the disk failed or another source was faster.
    const isBlameless = error.code === 'dataset-write-failed';
    if (isBlameless || header.number <= headSlot(this.#dependencies.feeder.pending)) return false;
    return this.strikeFor(error, header.number);
  }

  #rejectBlock({ slot, error }: Extract<LoadedBlock, { kind: 'damaged' }>): false {
    // The source is not at fault if our worker threads were busy or ended.
    if (ownFaults.has(error.code)) return false;
    this.#dependencies.counters.countRefused(error.code);
    return incompleteCodes.has(error.code)
      ? this.#awaitRest(slot, error)
      : this.strikeFor(error, slot);
  }

  /**
   * Waits for the rest of an incomplete block. Such a block is not wrong: the source may have the rest in a moment, and other
   * sources may have it now. An alarm is raised if it takes long.
   */
  #awaitRest(slot: Slot | undefined, error: CodedError): false {
    const { source, alarms, clock } = this.#dependencies;
    if (this.#incomplete === undefined || this.#incomplete.slot !== slot) {
      this.#incomplete = { slot, sinceMs: clock.nowMs() };
    }
    const cause = `slot ${slot}: ${error.message}`;
    const isLong = clock.nowMs() - this.#incomplete.sinceMs >= incompleteAlarmMs;
    if (isLong) alarms.raise(alarmOf(error), `${source.name}: ${cause}`);
    const retryAfterMs = incompleteRetryMs;
    source.health.fail({ kind: 'refused', reason: 'outage', cause, retryAfterMs });
    return false;
  }
}

function alarmOf({ code }: CodedError): AlarmCode {
  assert(isAlarmCode(code), 'every error that rejects a block of a source is an alarm');
  return code;
}

const ownFaults: ReadonlySet<string> = new Set([
  'block-pool-full',
  'block-pool-closed',
  'block-worker-died',
]);

const incompleteCodes: ReadonlySet<string> = new Set(['block-kind-missing', 'block-meta-missing']);
