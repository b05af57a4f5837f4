import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { joinBytes } from '@sluice/base/memory/join-bytes';
import type { StallWatch, WaitingWrite } from './stall-watch.ts';

/** The outcome of a write: `gone` if the client has disconnected, `stalled` if it read nothing for too long. */
export type WriteOutcome = 'written' | 'gone' | 'stalled';

/** A part up to this size is framed once, and all responses that send the part share the frame. */
const sharedFrameBytesMax = 1 << 16;
const lineBreak = Buffer.from('\r\n');

/** The frames by part. Thousands of followers may send the same part. */
const frames = new WeakMap<Uint8Array, Uint8Array>();

/**
 * Writes to a response with backpressure, and disconnects a client that stops reading. It frames the chunks itself and
 * writes them to the socket directly, because the response needs four writes per chunk, which was most of the work with
 * ten thousand followers.
 */
export class ResponseWriter implements WaitingWrite {
  readonly #response: ServerResponse;
  readonly #watch: StallWatch;
  #wake: (() => void) | undefined;
  #isStalled = false;

  /** The headers of the response must have been sent. */
  constructor(response: ServerResponse, watch: StallWatch) {
    this.#response = response;
    this.#watch = watch;
    response.on('close', () => this.#wake?.());
    response.socket?.on('drain', this.#onDrain);
  }

  readonly #onDrain = () => this.#wake?.();

  /**
   * Writes the parts as one chunk with one system call. Returns without a promise if the client keeps up. Calls `onSent`
   * when the bytes are no longer needed: the operating system has accepted them, or the client has disconnected.
   */
  write(parts: readonly Uint8Array[], onSent?: () => void): WriteOutcome | Promise<WriteOutcome> {
    const socket = this.#openSocket();
    if (socket === null) {
      onSent?.();
      return 'gone';
    }
    const byteLength = parts.reduce((sum, { length }) => sum + length, 0);
    // An empty chunk would end the response.
    if (byteLength === 0) onSent?.();
    else if (this.#response.chunkedEncoding) sendChunk(socket, { parts, byteLength }, onSent);
    else sendTogether(socket, parts, onSent);
    return this.#canContinue() ? 'written' : this.#wait(() => this.#canContinue());
  }

  end(bytes: Uint8Array): Promise<WriteOutcome> {
    const response = this.#response;
    const socket = this.#openSocket();
    if (socket === null) return Promise.resolve('gone');
    // The connection may be reused for further responses.
    socket.off('drain', this.#onDrain);
    response.once('finish', () => this.#wake?.());
    response.end(bytes);
    return this.#wait(() => response.writableFinished);
  }

  /**
   * Returns the bytes that the operating system has not accepted yet. The count of the socket falls only when a whole write
   * is done, which can take minutes for a large write to a slow client, so this reads the count of its handle.
   */
  unsent(): number {
    const socket = this.#response.socket as SocketWithHandle | null;
    return socket?._handle?.writeQueueSize ?? socket?.writableLength ?? 0;
  }

  /** Resets the connection, because a body without chunks would look complete otherwise. */
  giveUp(): void {
    this.#isStalled = true;
    this.#response.socket?.resetAndDestroy();
    this.#response.destroy();
    this.#wake?.();
  }

  #openSocket(): Socket | null {
    const { destroyed, socket } = this.#response;
    return destroyed || socket === null || socket.destroyed ? null : socket;
  }

  /** A large write counts as waiting until the end of the event loop turn, even if the system accepted all of it. */
  #canContinue(): boolean {
    const { socket } = this.#response;
    return socket !== null && (!socket.writableNeedDrain || this.unsent() === 0);
  }

  async #wait(isDone: () => boolean): Promise<WriteOutcome> {
    this.#watch.add(this);
    try {
      while (!isDone() && !this.#response.destroyed) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#wake = undefined;
      this.#watch.remove(this);
    }
    if (this.#isStalled) return 'stalled';
    return isDone() ? 'written' : 'gone';
  }
}

/** Waits until the response owns the socket. With pipelining, that is when all earlier responses have ended. */
export async function waitForTurn(response: ServerResponse, connection: Socket): Promise<void> {
  if (response.socket !== null || connection.destroyed) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      response.off('socket', end);
      connection.off('close', end);
      resolve();
    };
    response.once('socket', end);
    connection.once('close', end);
  });
}

interface ChunkBytes {
  readonly parts: readonly Uint8Array[];
  readonly byteLength: number;
}

function sendChunk(socket: Socket, { parts, byteLength }: ChunkBytes, onSent?: () => void): void {
  const [first] = parts;
  if (first?.length === byteLength && byteLength <= sharedFrameBytesMax) {
    socket.write(frameOf(first), onSent);
    return;
  }
  const size = Buffer.from(`${byteLength.toString(16)}\r\n`, 'latin1');
  sendTogether(socket, [size, ...parts, lineBreak], onSent);
}

function sendTogether(socket: Socket, parts: readonly Uint8Array[], onSent?: () => void): void {
  const last = parts.length - 1;
  socket.cork();
  for (const [i, part] of parts.entries()) socket.write(part, i === last ? onSent : undefined);
  socket.uncork();
}

function frameOf(bytes: Uint8Array): Uint8Array {
  let frame = frames.get(bytes);
  if (frame === undefined) {
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1');
    frame = joinBytes([size, bytes, lineBreak]);
    frames.set(bytes, frame);
  }
  return frame;
}

interface SocketWithHandle {
  readonly writableLength: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}
