import { Worker } from 'node:worker_threads';
import { CodedError } from '../base/errors.ts';
import { workerUrl } from '../base/worker-url.ts';

/** One segment from many, in a thread of its own: a merge takes seconds, and only now and then. */
export function mergeInThread(segments: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerUrl(import.meta.url, './merge-worker.ts'), {
      workerData: segments,
      env: {},
    });
    worker.once('message', resolve);
    worker.once('error', (cause) => reject(new CodedError('segment-merge-failed', {}, { cause })));
    worker.once('exit', (exitCode) => {
      reject(new CodedError('segment-merge-failed', { exitCode })); // Too late to matter if it answered.
    });
  });
}
