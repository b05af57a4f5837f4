import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { StallWatch, WaitingWrite } from './stall-watch.ts';

/** What became of a write: `gone` if there is no reader any more, `stalled` if it took no byte for too long. */
export type WriteOutcome = 'written' | 'gone' | 'stalled';

/** Parts up to this are framed in a buffer of their own, which all who send the part share. */
const sharedFrameBytesMax = 1 << 16;
const lineBreak = Buffer.from('\r\n');

/** The frames of parts: a piece of the head is sent by thousands. */
const frames = new WeakMap<Uint8Array, Uint8Array>();

/**
 * Writes to a response no faster than its reader reads, and not at all to one that stopped. Chunks are framed here and go to
 * the socket at once: the response's own way takes four writes for each, and with ten thousand followers that is most of
 * the work.
 */
export class ResponseWriter implements WaitingWrite {
  readonly #response: ServerResponse;
  readonly #watch: StallWatch;
  #wake: (() => void) | undefined;
  #isStalled = false;

  /** Of a response whose headers are sent. */
  constructor(response: ServerResponse, watch: StallWatch) {
    this.#response = response;
    this.#watch = watch;
    response.on('close', () => this.#wake?.());
    response.socket?.on('drain', this.#onDrain);
  }

  readonly #onDrain = () => this.#wake?.();

  /**
   * At once where the reader keeps up. What is given together is one chunk and goes to the system in one call. `onSent` is told
   * when nobody needs the bytes any more: when the system has taken all of them, or the reader is gone.
   */
  write(parts: readonly Uint8Array[], onSent?: () => void): WriteOutcome | Promise<WriteOutcome> {
    const socket = this.#openSocket();
    if (socket === null) {
      onSent?.();
      return 'gone';
    }
    const byteLength = parts.reduce((sum, { length }) => sum + length, 0);
    // A chunk of no bytes would be the last one.
    if (byteLength === 0) onSent?.();
    else if (this.#response.chunkedEncoding) sendChunk(socket, { parts, byteLength }, onSent);
    else sendTogether(socket, parts, onSent);
    return this.#hasRoom() ? 'written' : this.#wait(() => this.#hasRoom());
  }

  end(bytes: Uint8Array): Promise<WriteOutcome> {
    const response = this.#response;
    const socket = this.#openSocket();
    if (socket === null) return Promise.resolve('gone');
    // The connection may serve others after this one.
    socket.off('drain', this.#onDrain);
    response.once('finish', () => this.#wake?.());
    response.end(bytes);
    return this.#wait(() => response.writableFinished);
  }

  /**
   * Bytes that the system did not take yet. A socket's own count falls only when a whole write is done, which one large
   * write to a slow reader may not be for minutes, so the handle's is asked.
   */
  unsent(): number {
    const socket = this.#response.socket as SocketWithHandle | null;
    return socket?._handle?.writeQueueSize ?? socket?.writableLength ?? 0;
  }

  /** By a reset: a body without chunks would otherwise look complete. */
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

  /** A large write counts as waiting until its turn is over, also if the system took all of it. */
  #hasRoom(): boolean {
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

/** A client may send requests before their answers came: an answer has the socket once those before it have ended. */
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
    frame = Buffer.concat([size, bytes, lineBreak]);
    frames.set(bytes, frame);
  }
  return frame;
}

interface SocketWithHandle {
  readonly writableLength: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}
