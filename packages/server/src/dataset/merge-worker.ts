/** A thread that makes segments from the blocks it is given, one after another. */
import { parentPort } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { join } from '../segment/build-segment.ts';
import { appendSegment } from '../segment/merge-segments.ts';
import { openSegment } from '../segment/open-segment.ts';
import { SegmentWriter } from '../segment/segment-writer.ts';
import type { MergeReply, MergeRequest } from './segment-merger.ts';

const port = parentPort;
assert(port !== null, 'merging is done in a thread of its own');

let pieces: Uint8Array[] = [];
let writer = newWriter();

function newWriter(): SegmentWriter {
  return new SegmentWriter((bytes) => pieces.push(bytes));
}

port.on('message', (request: MergeRequest) => {
  if (request.kind === 'append') {
    appendSegment(writer, openSegment(request.bytes), request.headers);
    const reply: MergeReply = { byteLength: writer.byteLength, isFull: writer.isFull };
    port.postMessage(reply);
    return;
  }
  writer.finish();
  const merged = join(pieces);
  pieces = [];
  writer = newWriter();
  port.postMessage(merged, [merged.buffer as ArrayBuffer]);
});
