/** The messages between the pool and its threads. */
import type { ErrorCode, ErrorDetail } from '@sluice/base/errors';
import type { RegisteredIdl } from '@sluice/decode/idl-registry';
import type { CachedLocation } from '../../object-store/cached-range-file.ts';
import type { ByteRange } from '../../object-store/object-store.ts';
import type { Selection } from '../../query/query.ts';
import type { Lookup, LookupResults } from '../lookup/lookup.ts';
import type { ProbeFile, ProbeResult } from '../lookup/probe-files.ts';
import type { BlockRange } from '../segment-run.ts';

/** Where a thread reads a segment's bytes: a file, a cache file of an object store, or memory that all threads share. */
export type SegmentLocation =
  | { readonly kind: 'file'; readonly path: string }
  | CachedLocation
  | { readonly kind: 'memory'; readonly bytes: Uint8Array };

export type ToThread =
  /** Each opening of a segment has its own number. */
  | { readonly kind: 'open'; readonly segment: number; readonly location: SegmentLocation }
  | { readonly kind: 'close'; readonly segment: number }
  /** Gives a selection a number. The thread keeps it until it receives `forget`. */
  | { readonly kind: 'select'; readonly number: number; readonly selection: Selection }
  | { readonly kind: 'forget' }
  /** Later runs decode by these IDLs. */
  | { readonly kind: 'idls'; readonly idls: readonly RegisteredIdl[] }
  | { readonly kind: 'run'; readonly run: RunRequest }
  /** The reader has consumed this many bytes of the run. */
  | { readonly kind: 'taken'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'cancel'; readonly id: number }
  | LookupRequest
  | ProbeRequest;

export interface LookupRequest {
  readonly kind: 'lookup';
  readonly id: number;
  readonly segments: readonly number[];
  /** The index of each segment's result in the response. */
  readonly positions: readonly number[];
  readonly lookup: Lookup<number>;
}

/** Asks which of the files have a signature. The result of each file is a `ProbeResult`. */
export interface ProbeRequest {
  readonly kind: 'probe';
  readonly id: number;
  readonly signature: Uint8Array;
  readonly files: readonly ProbeFile[];
  readonly positions: readonly number[];
}

/** Whether the thread that writes the text of a run also compresses it. */
export type TextForm = 'plain' | 'deflated';

export interface RunRequest {
  readonly id: number;
  /** The number of a selection. Copying the selection for each block, or for each lookup, would cost more than evaluating it. */
  readonly selection: number;
  readonly range: BlockRange;
  /** Segment numbers in slot order. */
  readonly segments: readonly number[];
  /** Whether many readers wait for this run. It is short and runs without interruption. */
  readonly isUrgent: boolean;
  readonly form: TextForm;
  /**
   * How a run is divided among the threads: a part is as few row groups of a segment as have this many blocks. Small parts let all threads work
   * on the text that is read next. Larger ones cost less in all, because a thread reads neighbouring row groups, and reads sparse ones together;
   * but their text must be small enough to be buffered. If it is Infinity, a part is a segment, and only one thread opens it.
   */
  readonly partBlocksMin: number;
  /** Thread (p + turn) mod n does part p. Different turns distribute runs over one block among the threads. */
  readonly turn: number;
  /** The segment whose last block in the range always gets a line. */
  readonly lastSegment: number | undefined;
}

/** How far a run has come at the end of a piece. */
export interface Coverage {
  /** All blocks of the range up to this slot are covered. */
  readonly slot: number;
  readonly hash: string;
  /** The line of that block with its header only. */
  readonly headerLine: Uint8Array;
  /** Whether the text so far ends with the line of that block. */
  readonly endsWithLine: boolean;
  /** Which share of the transactions in the segment of that block may match the query, from 0 to 1. */
  readonly candidateShare: number;
}

/** Compressed text: a part of a raw deflate stream that ends at a byte boundary, so that parts can be concatenated. */
export interface DeflatedText {
  readonly bytes: Uint8Array;
  /** The checksum and the length of the text before compression. */
  readonly crc: number;
  readonly plainLength: number;
}

export interface RunPiece {
  /** The text. It is empty if the covered blocks have no line, or if only compressed text was requested. */
  readonly bytes: Uint8Array;
  /** The compressed text, if it was requested and is not empty. */
  readonly deflated: DeflatedText | undefined;
  /** Undefined if the piece ends in the middle of a line. */
  readonly coverage: Coverage | undefined;
  /**
   * Must be called once, when the text is no longer read: the thread then reuses its memory. A thread has a limited number of buffers, and
   * memory from the garbage collector would cost a quarter of the time that writing takes.
   */
  release(): void;
}

/** A piece of one part of a run. Parts are numbered across all segments. */
export interface PartPiece extends RunPiece {
  readonly part: number;
}

/**
 * Several pieces in one buffer, and a table of numbers that describes them. A message, and each object in it, costs as much as writing a
 * few kilobytes, so many pieces share one message.
 *
 *   buffer  text · compressed text · header line · hash | …   each piece at a multiple of 8
 *   table   part · text length · slot · header line's length · hash's length · whether the text ends with a line of that slot ·
 *           share of candidates · compressed text's length · CRC of the text · its length before compression | …
 */
export interface PieceBatch {
  /** The number of a buffer that is shared with the thread, or memory that is transferred. */
  readonly buffer: number | Uint8Array;
  readonly table: Float64Array;
}

export type FromThread =
  /** The thread has loaded its code and receives messages. */
  | { readonly kind: 'started' }
  /** Pieces of a run. `isEnd` says whether they are the last ones from this thread. */
  | ({ readonly kind: 'pieces'; readonly id: number; readonly isEnd: boolean } & PieceBatch)
  | { readonly kind: 'end'; readonly id: number }
  /** The thread no longer reads the segment. */
  | { readonly kind: 'closed'; readonly segment: number }
  /** The results of a lookup in all segments that this thread was given. */
  | {
      readonly kind: 'lookup-done';
      readonly id: number;
      readonly positions: readonly number[];
      readonly results: readonly (LookupResults[keyof LookupResults] | ProbeResult)[];
    }
  | {
      readonly kind: 'lookup-failed';
      readonly id: number;
      readonly segment: number | undefined;
      readonly code: ErrorCode | undefined;
      readonly detail: ErrorDetail;
      readonly message: string;
    }
  /** The thread needs ranges of a cached segment. It waits for them if there is a ticket. */
  | {
      readonly kind: 'fetch';
      readonly segment: number;
      readonly ranges: readonly ByteRange[];
      readonly ticket: number | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly id: number;
      /** The part in which it failed. All earlier parts were sent completely. */
      readonly segment: number | undefined;
      readonly part: number;
      readonly code: ErrorCode | undefined;
      readonly detail: ErrorDetail;
      readonly message: string;
    };

/**
 * How far a thread may be ahead of the reader. A single run may be ahead by most of a row group with all records, so that both of two
 * alternating threads stay busy; with half of that they were idle a tenth of the time. Several runs share the amount, down to a minimum.
 */
export const aheadBytesMax = 20 << 20;
export const aheadBytesFloor = 2 << 20;
/** A thread is informed when this much was consumed, rather than for every piece. */
export const takenBytesGoal = 1 << 20;
