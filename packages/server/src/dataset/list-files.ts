/** The content of a list of segments as a file: JSON text, compressed by gzip, whose checksum detects damage. */
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import type { SegmentList } from '../chain/chain-snapshot.ts';
import { describeRun, type ListContent, type NewList } from '../chain/segment-lists.ts';
import { decodeList, encodeList } from './state-codec.ts';

/** Returns the description of a new list, and the bytes of its file. */
export function buildList({ depth, ...content }: NewList): {
  list: SegmentList;
  bytes: Uint8Array;
} {
  const bytes = gzipSync(encodeList(content));
  const isLeaf = content.kind === 'segments';
  const run = describeRun(isLeaf ? content.segments : content.lists);
  const checksum = crc32(bytes).toString(16).padStart(8, '0');
  const segmentCount = isLeaf
    ? content.segments.length
    : content.lists.reduce((count, list) => count + list.segmentCount, 0);
  const id = `${run.first.number}-${run.last.number}-${depth}-${checksum}.json.gz`;
  return { list: { id, ...run, depth, segmentCount }, bytes };
}

export function parseList(list: SegmentList, bytes: Uint8Array): ListContent {
  try {
    return decodeList(JSON.parse(gunzipSync(bytes).toString()));
  } catch (cause) {
    throw damagedList(list, cause);
  }
}

function damagedList({ id }: SegmentList, cause: unknown): CodedError {
  return new CodedError('segment-list-damaged', { list: id }, { cause });
}
