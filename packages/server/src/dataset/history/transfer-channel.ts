/**
 * How a thread reads and writes indexes in an object store. It works synchronously, so it posts a request and sleeps until the main thread,
 * which has the connections, has put the answer into shared memory. If a request fails, the main thread ends the thread.
 */
import type { MessagePort } from 'node:worker_threads';
import type { OpenIndexBytes } from '../../segment/history/read-index.ts';

/** Moves indexes from and to an object store while they are merged, so that the local disk holds only a few pieces of them. */
export interface IndexTransfer {
  /** The length of all pieces of an index but the last. */
  readonly pieceBytes: number;
  /** Reads bytes of an index. Returns fewer if the index ends before. */
  read(name: string, position: number, length: number): Promise<Uint8Array>;
  /** Stores a piece of the new index and removes its local file. */
  store(number: number, path: string): Promise<void>;
}

export interface TransferChannel {
  readonly pieceBytes: number;
  /** One number: the length of the answer, or `waiting`. */
  readonly state: Int32Array<SharedArrayBuffer>;
  readonly data: Uint8Array<SharedArrayBuffer>;
}

export type TransferRequest =
  | {
      readonly kind: 'read';
      readonly name: string;
      readonly position: number;
      readonly length: number;
    }
  | { readonly kind: 'store'; readonly number: number; readonly path: string };

const waiting = -1;
const answerBytesMax = 1 << 20;
/** Short reads are mostly of entries that follow each other, so more than they need is read at once. */
const aheadBytes = 1 << 16;

export function createChannel(pieceBytes: number): TransferChannel {
  return {
    pieceBytes,
    state: new Int32Array(new SharedArrayBuffer(4)),
    data: new Uint8Array(new SharedArrayBuffer(answerBytesMax)),
  };
}

/** Answers a request of the thread. */
export async function answer(
  request: TransferRequest,
  transfer: IndexTransfer,
  { state, data }: TransferChannel,
): Promise<void> {
  let length = 0;
  if (request.kind === 'read') {
    const bytes = await transfer.read(request.name, request.position, request.length);
    data.set(bytes);
    length = bytes.length;
  } else await transfer.store(request.number, request.path);
  Atomics.store(state, 0, length);
  Atomics.notify(state, 0);
}

/** The end of the channel in the thread. */
export class TransferClient {
  readonly #port: MessagePort;
  readonly #channel: TransferChannel;

  constructor(port: MessagePort, channel: TransferChannel) {
    this.#port = port;
    this.#channel = channel;
  }

  openIndex(name: string): OpenIndexBytes {
    let held = { position: 0, bytes: new Uint8Array(0) };
    return {
      read: (position, length) => {
        if (length > aheadBytes) return this.#read(name, position, length);
        const isHeld =
          position >= held.position && position + length <= held.position + held.bytes.length;
        if (!isHeld) held = { position, bytes: this.#read(name, position, aheadBytes) };
        const start = position - held.position;
        return held.bytes.subarray(start, start + length);
      },
      close: () => undefined,
    };
  }

  store(number: number, path: string): void {
    this.#ask({ kind: 'store', number, path });
  }

  #read(name: string, position: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const rest = Math.min(length - filled, answerBytesMax);
      const count = this.#ask({ kind: 'read', name, position: position + filled, length: rest });
      bytes.set(this.#channel.data.subarray(0, count), filled);
      filled += count;
      if (count < rest) break;
    }
    return bytes.subarray(0, filled);
  }

  #ask(request: TransferRequest): number {
    const { state } = this.#channel;
    Atomics.store(state, 0, waiting);
    this.#port.postMessage(request);
    Atomics.wait(state, 0, waiting);
    return Atomics.load(state, 0);
  }
}
