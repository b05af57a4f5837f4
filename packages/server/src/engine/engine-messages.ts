/** What the pool and its threads say to each other. */
import type { ErrorCode, ErrorDetail } from '../base/errors.ts';
import type { CachedPlace } from '../object-store/cached-range-file.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { Selection } from '../query/query.ts';
import type { Lookup, LookupResults } from './lookup/lookup.ts';
import type { BlockRange } from './segment-run.ts';

/** Where a thread finds a segment's bytes: a file, a cache file of an object store, or memory that all threads share. */
export type SegmentPlace =
  | { readonly kind: 'file'; readonly path: string }
  | CachedPlace
  | { readonly kind: 'memory'; readonly bytes: Uint8Array };

export type ToThread =
  /** A segment has a number of its own each time it is opened. */
  | { readonly kind: 'open'; readonly segment: number; readonly place: SegmentPlace }
  | { readonly kind: 'close'; readonly segment: number }
  /** What runs with this number ask, until the thread is told to forget them all. */
  | { readonly kind: 'select'; readonly number: number; readonly selection: Selection }
  | { readonly kind: 'forget' }
  | { readonly kind: 'run'; readonly run: RunRequest }
  /** The reader has taken that many bytes of the run. */
  | { readonly kind: 'taken'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'cancel'; readonly id: number }
  | LookupRequest;

/** A lookup in each of the segments. */
export interface LookupRequest {
  readonly kind: 'look';
  readonly id: number;
  readonly segments: readonly number[];
  /** Identifies the results in the answer, one for each segment. */
  readonly positions: readonly number[];
  readonly lookup: Lookup;
}

/** How the text of a run is wanted: as it is, or compressed by the thread that wrote it. */
export type TextForm = 'plain' | 'deflated';

/**
 * What a thread does of a run before the next thread has its turn. With row groups all threads work on what is read next, but each opens
 * every segment. With whole segments each segment is opened by one thread; that pays where the answer of a segment is small enough to
 * wait in memory until its turn comes.
 */
export type PartUnit = 'group' | 'segment';

export interface RunRequest {
  readonly id: number;
  /** The number of a selection: a copy of it for each block would cost more than to answer it. */
  readonly selection: number;
  readonly range: BlockRange;
  /** By number, in order of slot. */
  readonly segments: readonly number[];
  /** Whether many wait for it: it is short, and done without letting others in between. */
  readonly isUrgent: boolean;
  readonly form: TextForm;
  /** What one part of the run is. */
  readonly unit: PartUnit;
  /** Part p is done by thread (p + turn) mod n: runs over one block each must not all fall to one thread. */
  readonly turn: number;
  /** The segment whose last block of the range gets a line in any case. */
  readonly lastSegment: number | undefined;
}

/** What a run has covered when a piece has been taken. */
export interface Coverage {
  /** Every block of the range up to this slot. */
  readonly slot: number;
  /** The hash of the block of that slot. */
  readonly hash: string;
  /** The line of that block with nothing but its header. */
  readonly headerLine: Uint8Array;
  /** Whether the text so far ends with a line of that very block. */
  readonly endsWithLine: boolean;
}

/** Text compressed by itself: a part of a raw deflate stream that ends on a byte, so that parts follow each other in one stream. */
export interface DeflatedText {
  readonly bytes: Uint8Array;
  /** Of the text before compression, and how long it was. */
  readonly crc: number;
  readonly plainLength: number;
}

export interface RunPiece {
  /** Text; empty where blocks were covered that have no line, and where it is wanted compressed only. */
  readonly bytes: Uint8Array;
  /** Where it was asked for, of text that is not empty. */
  readonly deflated: DeflatedText | undefined;
  /** Undefined in the middle of a line. */
  readonly coverage: Coverage | undefined;
  /**
   * Says, once, that nobody reads the text any more, compressed or not: the thread then writes other text in its place. A thread
   * lends only so much, and memory that has to be collected instead costs as much as a quarter of writing.
   */
  release(): void;
}

/** A piece of one part of a run. Parts are numbered over all segments. */
export interface PartPiece extends RunPiece {
  readonly part: number;
}

/**
 * Several pieces in one buffer, and a table of numbers that describes them. A message, and each object in it, costs as much as writing a
 * few kilobytes, so many pieces share one message.
 *
 *   buffer  text · compressed text · header line · hash | …   each piece at a multiple of 8
 *   table   part · text length · slot · header line's length · hash's length · whether the text ends with a line of that slot ·
 *           compressed text's length · CRC of the text · its length before compression | …
 */
export interface PieceBatch {
  /** The number of a buffer that is shared with the thread, or memory that is transferred. */
  readonly buffer: number | Uint8Array;
  readonly table: Float64Array;
}

export type FromThread =
  /** Pieces of a run; whether they are its last from this thread. */
  | ({ readonly kind: 'pieces'; readonly id: number; readonly isEnd: boolean } & PieceBatch)
  | { readonly kind: 'end'; readonly id: number }
  /** The thread reads nothing of it any more. */
  | { readonly kind: 'closed'; readonly segment: number }
  /** The results of a lookup in all segments that this thread was sent. */
  | {
      readonly kind: 'looked';
      readonly id: number;
      readonly positions: readonly number[];
      readonly results: readonly LookupResults[keyof LookupResults][];
    }
  | {
      readonly kind: 'look-failed';
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
      /** Where: what was sent of parts before is whole. */
      readonly segment: number | undefined;
      readonly part: number;
      readonly code: ErrorCode | undefined;
      readonly detail: ErrorDetail;
      readonly message: string;
    };

/**
 * What a thread may have written and not been relieved of. A run that has the thread to itself may be most of a row group of
 * everything ahead, so that two threads that take turns both keep busy: with half of one they were idle a tenth of the time.
 * Many runs share that, down to a floor.
 */
export const aheadBytesMax = 20 << 20;
export const aheadBytesFloor = 2 << 20;
/** A thread is told of what was taken when it is this much: it need not know of every piece. */
export const takenBytesGoal = 1 << 20;
