import type { Block } from '@sluice/ledger/block';
import { simulatedRecords } from './simulated-records.ts';

interface CorpusOptions {
  readonly seed: number;
  readonly blockCount: number;
}

const firstSlot = 1_000;

/** Generates blocks of the simulator's 2025 profile without votes. */
export function corpusBlocks({ seed, blockCount }: CorpusOptions): Generator<Block> {
  return simulatedRecords({ seed, profile: '2025' }, { firstSlot, blockCount });
}
