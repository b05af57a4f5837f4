import type { BlockHeader } from '@sluice/ledger/block';
import type { IndexRun, SealedSegment, SegmentList } from '../chain/chain-snapshot.ts';
import type { ListContent } from '../chain/segment-lists.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { IndexShape } from '../segment/history/layout.ts';
import type { RemoteSegment } from './dataset-reader.ts';
import type { IndexInputs, MakeIndex, OpenIndexFile } from './history/index-thread.ts';

/**
 * Where a dataset keeps its sealed segments, the lists of them and the indexes over them: a folder, or an object store behind a cache. The files are immutable.
 * A file is announced in the chain before it is written, and the chain refers to it after that.
 */
export interface SegmentFiles {
  /** Whether the files take space on the disk of this machine, other than in a cache. */
  readonly isLocal: boolean;
  /** Returns the path of a segment's file on this machine. */
  path(segment: SealedSegment): string;
  /** Returns where a segment is that has to be fetched first; undefined if `path` is enough. */
  remote(segment: SealedSegment): RemoteSegment | undefined;
  /** Returns the content, or a part of it. */
  read(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array>;
  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]>;
  /** Stores a segment durably and takes ownership of its buffers. */
  write(segment: SealedSegment, parts: readonly Uint8Array[]): Promise<void>;
  readList(list: SegmentList): Promise<ListContent>;
  /** Stores the encoded content of a list durably. */
  writeList(list: SegmentList, bytes: Uint8Array): Promise<void>;
  /** Opens an index over segments. Failures may also occur when it is read. */
  openIndex(run: IndexRun): Promise<OpenIndexFile>;
  /** Stores an index durably that `make` makes. */
  makeIndex(inputs: IndexInputs, make: MakeIndex, signal: AbortSignal): Promise<IndexShape>;
  /**
   * Removes files that no state on this machine needs, given relative to the dataset's folder. Returns those that no longer exist for any
   * process.
   */
  remove(files: readonly string[]): Promise<readonly string[]>;
}
