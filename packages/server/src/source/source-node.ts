import type { BlockHeader } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { Answer } from './rpc-refusal.ts';

export type Commitment = 'confirmed' | 'finalized';

/** How the bytes of a block are to be read: as the result of a node's getBlock, or as a line of another Sluice. */
export type BlockFormat = 'node' | 'line';

/** Which ledger a source serves, and how much of it. */
export interface SourceIdentity {
  /** Null where the source itself was never told. */
  readonly genesisHash: string | null;
  /** What it kept of the ledger; null for a node, which has it all. */
  readonly content: {
    readonly votes: 'drop' | 'keep';
    readonly allowMissing: readonly string[];
  } | null;
}

/** What ingestion asks of a source that it follows, whatever the source speaks. */
export interface SourceNode {
  /** For logs and `/status`; never the address, which may hold a key. */
  readonly name: string;
  readonly format: BlockFormat;
  identity(signal: AbortSignal): Promise<Answer<SourceIdentity>>;
  /** The newest slot of a commitment. */
  slot(commitment: Commitment, signal: AbortSignal): Promise<Answer<Slot>>;
  firstAvailable(signal: AbortSignal): Promise<Answer<Slot>>;
  /** The slots with a block, ascending. A source silently leaves out what it no longer has. */
  listSlots(
    range: { readonly first: number; readonly last: number },
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<Answer<Slot[]>>;
  /** A block's place in the chain, without its content. */
  header(slot: Slot, commitment: Commitment, signal: AbortSignal): Promise<Answer<BlockHeader>>;
  /** The bytes of a block with everything in it. */
  block(
    slot: Slot,
    commitment: Commitment,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Answer<Uint8Array>>;
  /** The bytes of a block are read, and their memory may serve the next. */
  giveBack(bytes: Uint8Array): void;
  close(): Promise<void>;
}
