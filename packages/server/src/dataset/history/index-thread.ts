import { Worker } from 'node:worker_threads';
import { CodedError, type ErrorCode, type ErrorDetail } from '@sluice/base/errors';
import { workerUrl } from '@sluice/base/worker-url';
import type { IndexRun, SealedSegment } from '../../chain/chain-snapshot.ts';
import type { IndexShape } from '../../segment/history/layout.ts';
import {
  answer,
  createChannel,
  type IndexTransfer,
  type TransferChannel,
  type TransferRequest,
} from './transfer-channel.ts';

/** The files of which an index is made, and its path. With a transfer, indexes are given by their names, and the path is that of its pieces. */
export interface IndexFiles {
  readonly segments: readonly {
    readonly path: string;
    readonly first: number;
    readonly last: number;
  }[];
  readonly runs: readonly string[];
  readonly target: string;
}

/** An index over segments that is being read. */
export interface OpenIndexFile {
  read(position: number, length: number): Promise<Uint8Array>;
  /** Removes the local copy of an index in an object store, because its bytes are wrong. */
  discard?(): void;
  close(): Promise<void>;
}

/** What an index is made of, and its name. */
export interface IndexInputs {
  readonly id: string;
  readonly segments: readonly {
    readonly segment: SealedSegment;
    readonly first: number;
    readonly last: number;
  }[];
  readonly runs: readonly IndexRun[];
}

export interface IndexWorkerData {
  readonly files: IndexFiles;
  readonly channel: TransferChannel | undefined;
}

export type IndexReply =
  | { readonly kind: 'made'; readonly shape: IndexShape }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly detail: ErrorDetail };

/** Makes an index durably. The signal ends it early; then nothing refers to its file. */
export type MakeIndex = (
  files: IndexFiles,
  signal: AbortSignal,
  transfer?: IndexTransfer,
) => Promise<IndexShape>;

/** Makes an index in a thread of low priority, which ends afterwards: indexes are made minutes apart. */
export const makeIndexInThread: MakeIndex = (files, signal, transfer) =>
  new Promise((resolve, reject) => {
    const channel = transfer && createChannel(transfer.pieceBytes);
    const worker = new Worker(workerUrl(import.meta.url, './index-worker.ts'), {
      env: {},
      // Options of the parent process, such as a test runner's, do not apply to the thread.
      execArgv: [],
      workerData: { files, channel } satisfies IndexWorkerData,
    });
    const end = () => void worker.terminate();
    const fail = (error: unknown) => {
      reject(error);
      end();
    };
    signal.addEventListener('abort', end, { once: true });
    worker.on('message', (message: IndexReply | TransferRequest) => {
      if (message.kind === 'made') resolve(message.shape);
      else if (message.kind === 'failed')
        reject(new CodedError(message.code, message.detail as never));
      else if (transfer !== undefined && channel !== undefined)
        answer(message, transfer, channel).catch(fail);
    });
    worker.on('error', (cause) => reject(new CodedError('segment-merge-failed', {}, { cause })));
    worker.on('exit', (exitCode) => {
      signal.removeEventListener('abort', end);
      reject(new CodedError('segment-merge-failed', { exitCode }));
    });
    if (signal.aborted) end();
  });
