/** A thread that merges one-block segments into a long one and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { mergeSegments } from '../segment/merge-segments.ts';
import { openSegment } from '../segment/open-segment.ts';

const merged = mergeSegments((workerData as Uint8Array[]).map((bytes) => openSegment(bytes)));
parentPort?.postMessage(merged, [merged.buffer as ArrayBuffer]);
