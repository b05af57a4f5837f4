import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { RemoteSegment } from './dataset-reader.ts';
import type { BuiltSegment } from './merge/built-segment.ts';

/** Where a dataset keeps its sealed segments: a folder, or an object store behind a cache. */
export interface SegmentFiles {
  /** Returns the path of a segment's file on this machine. */
  path(segment: SealedSegment): string;
  /** Returns where a segment is that has to be fetched first; undefined if `path` is enough. */
  remote(segment: SealedSegment): RemoteSegment | undefined;
  /** Returns the content, or a part of it. */
  read(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array>;
  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]>;
  /** Stores a segment durably and takes ownership of its buffers. The caller then commits it. */
  write(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<SealedSegment>;
  /** Ends the protection of a new segment after its commit has succeeded or failed. */
  settle(segment: SealedSegment): void;
  /** Removes the local copies of segments that are not needed. */
  collect(needed: ReadonlySet<string>): Promise<void>;
}
