/** A thread that makes segments from the blocks it is given, one after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { collectGarbage } from '../base/collect-garbage.ts';
import { discard } from '../base/discard.ts';
import { giveWay } from '../base/give-way.ts';
import { appendSegment } from '../segment/merge-segments.ts';
import { openSegment } from '../segment/open-segment.ts';
import { SegmentWriter } from '../segment/segment-writer.ts';
import { SegmentParts } from './made-segment.ts';
import type { MergeReply, MergeRequest, MergeWorkerData } from './segment-merger.ts';

const port = parentPort;
assert(port !== null, 'merging is done in a thread of its own');

const { givesWay } = workerData as MergeWorkerData;
if (givesWay) giveWay();

let parts = new SegmentParts();
let writer = newWriter();

function newWriter(): SegmentWriter {
  return new SegmentWriter((bytes) => parts.append(bytes));
}

port.on('message', (request: MergeRequest) => {
  if (request.kind === 'append') {
    appendSegment(writer, openSegment(request.bytes), request.headers);
    discard(request.bytes);
    const reply: MergeReply = { byteLength: writer.byteLength, isFull: writer.isFull };
    port.postMessage(reply);
    return;
  }
  writer.finish();
  const made = parts.finish();
  parts = new SegmentParts();
  writer = newWriter();
  port.postMessage(
    made,
    made.parts.map(({ buffer }) => buffer as ArrayBuffer),
  );
  // The next merge may be minutes away.
  if (givesWay) collectGarbage();
});
