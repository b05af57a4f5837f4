/** The worker thread that merges the segments it receives, one merge after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { collectGarbage } from '@sluice/base/memory/collect-garbage';
import { discard } from '@sluice/base/memory/discard';
import { openSegment } from '../../segment/read/open-segment.ts';
import { appendDraft } from '../../segment/write/draft.ts';
import { appendSegment } from '../../segment/write/merge-segments.ts';
import { SegmentWriter } from '../../segment/write/segment-writer.ts';
import { SegmentBuffer } from './built-segment.ts';
import type { MergeReply, MergeRequest, MergeWorkerData } from './segment-merger.ts';

const port = parentPort;
assert(port !== null, 'this module runs in a worker thread');

const { isLowPriority } = workerData as MergeWorkerData;
if (isLowPriority) lowerThreadPriority();

let buffer = new SegmentBuffer();
let writer = newWriter();

function newWriter(): SegmentWriter {
  return new SegmentWriter((bytes) => buffer.append(bytes));
}

function append(request: Exclude<MergeRequest, { kind: 'finish' }>): void {
  if (request.kind === 'append-draft') {
    appendDraft(writer, request.bytes, request.header);
    return;
  }
  appendSegment(writer, openSegment(request.bytes), request.headers);
  discard(request.bytes);
}

port.on('message', (request: MergeRequest) => {
  if (request.kind !== 'finish') {
    append(request);
    const reply: MergeReply = { byteLength: writer.byteLength, isFull: writer.isFull };
    port.postMessage(reply);
    return;
  }
  writer.finish();
  const built = buffer.finish();
  buffer = new SegmentBuffer();
  writer = newWriter();
  port.postMessage(
    built,
    built.parts.map((part) => part.buffer as ArrayBuffer),
  );
  // The next merge may be minutes away, so the memory is freed now.
  if (isLowPriority) collectGarbage();
});
