/** The worker thread that merges the segments it receives, one merge after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { systemClock } from '@sluice/base/clock';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { collectGarbage } from '@sluice/base/memory/collect-garbage';
import { discard } from '@sluice/base/memory/discard';
import { openSegment } from '../../segment/read/open-segment.ts';
import { appendDraft } from '../../segment/write/draft.ts';
import { appendSegment } from '../../segment/write/merge-segments.ts';
import { SegmentWriter } from '../../segment/write/segment-writer.ts';
import { SegmentBuffer } from './built-segment.ts';
import { Pacer, restInThread } from './pacer.ts';
import type { MergeReply, MergeRequest, MergeWorkerData } from './segment-merger.ts';

const port = parentPort;
assert(port !== null, 'this module runs in a worker thread');

const { speed } = workerData as MergeWorkerData;
if (speed !== 'full') lowerThreadPriority();
const pacer = speed === 'paced' ? new Pacer({ clock: systemClock, rest: restInThread }) : undefined;

let buffer = new SegmentBuffer();
let writer = newWriter();

function newWriter(): SegmentWriter {
  const write = (bytes: Uint8Array) => {
    buffer.append(bytes);
    pacer?.add(bytes.length);
  };
  return new SegmentWriter(write, { onStep: () => pacer?.rest() });
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
  pacer?.begin();
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
  if (speed !== 'full') collectGarbage();
});
