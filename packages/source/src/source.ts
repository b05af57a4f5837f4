/**
 * The interface of a source that a dataset follows. A source never throws for what the other side sends or fails to send; it
 * returns a refusal with a reason instead.
 */
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import type { Refusal, SourceResult } from './refusal.ts';

export type Commitment = 'confirmed' | 'finalized';

/**
 * The format of the bytes of a block: the result of `getBlock`, a line of another Sluice, a `ConfirmedBlock` protobuf, or the nodes of an
 * archive.
 */
export type BlockFormat = 'node' | 'line' | 'protobuf' | 'archive';

/** Which ledger a source serves, and which part of it. */
export interface SourceIdentity {
  /** Null if the source does not know it. */
  readonly genesisHash: string | null;
  /** What the source stores of the ledger; null for a node, which has everything. */
  readonly content: {
    readonly votes: 'drop' | 'keep';
    readonly allowMissing: readonly string[];
  } | null;
}

/** The timeouts of a request for a block. Nodes need longer for history. */
export const headTimeoutMs = 10_000;
export const historyTimeoutMs = 30_000;

/** Servers write 32 zero bytes for an unknown parent hash. */
export const unknownHash = '1'.repeat(32);

/** The largest range of `listSlots`, which is the limit of nodes. */
export const listSlotsMax = 500_000;

/** Both slots are included. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
}

/** A sealed segment of another Sluice. */
export interface OfferedSegment {
  readonly id: string;
  readonly first: Slot;
  readonly last: Slot;
  readonly byteLength: number;
}

export interface Source {
  /** For logs and `/status`. It is never the address, which may contain a key. */
  readonly name: string;
  readonly format: BlockFormat;
  /** Whether the source limits the number of requests per second. */
  readonly isRateLimited: boolean;
  /** Whether blocks arrive by themselves. Such a source usually has a new block first, and takes the lead at once then. */
  readonly isPushed?: boolean;
  /** What the source is doing, for `/status`. */
  readonly activity?: string;
  /** Absent if the source has no notifications; it is polled then. */
  readonly notices?: SlotNotices;
  identity(signal: AbortSignal): Promise<SourceResult<SourceIdentity>>;
  /** Returns the newest slot of a commitment. */
  slot(commitment: Commitment, signal: AbortSignal): Promise<SourceResult<Slot>>;
  firstAvailable(signal: AbortSignal): Promise<SourceResult<Slot>>;
  /** Returns the slots with a block, ascending. A source silently omits blocks that it no longer has. */
  listSlots(
    range: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<Slot[]>>;
  /** Returns the header of a block without its records. */
  header(
    slot: Slot,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader>>;
  /** Returns the headers of all blocks of a range, ascending, by one request. Absent if that takes a request for each. */
  readHeaders?(
    range: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader[]>>;
  /** Returns the bytes of a whole block. */
  block(
    slot: Slot,
    commitment: Commitment,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<SourceResult<Uint8Array>>;
  /** Streams the whole blocks of a range by one request, ascending. Absent if that takes a request for each. */
  readBlocks?(
    range: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockStream>>;
  /** Returns the highest sealed segment that begins at or below a slot. Absent if the source has no segments. */
  findSegment?(slot: Slot, signal: AbortSignal): Promise<SourceResult<OfferedSegment | undefined>>;
  /** Returns the content of a segment, in parts. It matches its checksum. */
  readSegment?(segment: OfferedSegment, signal: AbortSignal): Promise<SourceResult<Uint8Array[]>>;
  /** Returns the memory of a block's bytes to the source, which reuses it for other blocks. */
  giveBack(bytes: Uint8Array): void;
  /** Streams whole blocks from a position. Absent if the source can only be polled. */
  follow?(position: FollowPosition, signal: AbortSignal): Promise<SourceFeed>;
  close(): Promise<void>;
}

export interface FollowPosition {
  readonly from: Slot;
  /** The hash of the block below `from`, if it is known. */
  readonly parentHash: BlockHash | null;
}

export type SourceFeed =
  | { readonly kind: 'blocks'; readonly blocks: BlockStream }
  /** The position is above the newest block of the source. */
  | { readonly kind: 'above' }
  /** The parent is not on the source's chain. These are the blocks of that chain below the position, ascending. */
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] }
  | Refusal;

export interface BlockStream extends AsyncIterable<StreamedBlock> {
  /** The finalized head of the source when the stream began. */
  readonly finalized: BlockRef | null;
  /** The reason why the stream broke off; undefined while it has not. */
  readonly fault: Refusal | undefined;
  /** Ends the stream. */
  close(): Promise<void>;
}

export interface StreamedBlock {
  /** Undefined if the bytes name no slot. */
  readonly slot: Slot | undefined;
  readonly bytes: Uint8Array;
}

/** A source that can stream blocks. */
export type StreamingSource = Source & Required<Pick<Source, 'follow'>>;

export function canStream(source: Source): source is StreamingSource {
  return source.follow !== undefined;
}

/** Notifications about new slots. They show when a request is worthwhile, but prove nothing about the ledger. */
export interface SlotNotices {
  /** Whether notifications arrive at the moment. */
  readonly isLive: boolean;
  /** The slot of the last notification; -1 before the first one. */
  readonly highest: number;
  /** Returns when a slot was announced; undefined if it was not announced recently. */
  announcedMs(slot: number): number | undefined;
  /** Returns for each recently announced slot above this one how long ago it was announced. */
  announcedAbove(slot: number): number[];
  /** Resolves when a slot above `slot` is announced, after `ms`, or when the signal aborts. */
  above(slot: number, ms: number, signal: AbortSignal): Promise<void>;
  /** Receives notifications until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}
