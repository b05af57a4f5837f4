/**
 * The frames of gRPC: each message follows one byte, which is 1 if the message is compressed, and its length in four bytes, most significant
 * first.
 */
import type { GrpcStatus } from './grpc-status.ts';
import { GRPC_CODES } from './grpc-status.ts';

const headerBytes = 5;

export function encodeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headerBytes);
  return frame;
}

/** Splits the bytes of a stream into messages. Its memory is limited by the largest message. */
export class FrameReader {
  readonly #messageBytesMax: number;
  readonly #onMessage: (message: Uint8Array) => void;
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  /** The message that is being received, once its length is known. */
  #message: Buffer | undefined;
  #messageLength = 0;

  constructor(messageBytesMax: number, onMessage: (message: Uint8Array) => void) {
    this.#messageBytesMax = messageBytesMax;
    this.#onMessage = onMessage;
  }

  /** Whether the last message has arrived completely. */
  get isAtEnd(): boolean {
    return this.#headerLength === 0;
  }

  /** Reads the next bytes. Returns the status with which the call must end if they are not allowed. */
  push(chunk: Uint8Array): GrpcStatus | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#headerLength < headerBytes) {
        at += this.#takeHeader(chunk, at);
        if (this.#headerLength < headerBytes) return undefined;
        const fault = this.#beginMessage();
        if (fault !== undefined) return fault;
      } else {
        at += this.#takeMessage(chunk, at);
      }
      if (this.#message?.length === this.#messageLength) this.#endMessage(this.#message);
    }
    return undefined;
  }

  #takeHeader(chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + headerBytes - this.#headerLength);
    this.#header.set(part, this.#headerLength);
    this.#headerLength += part.length;
    return part.length;
  }

  #beginMessage(): GrpcStatus | undefined {
    if (this.#header[0] !== 0) {
      const message = 'the server sent a compressed message, which was not requested';
      return { code: GRPC_CODES.internal, message };
    }
    const length = this.#header.readUInt32BE(1);
    if (length > this.#messageBytesMax) {
      const message = `a message of ${length} bytes is larger than the limit of ${this.#messageBytesMax}`;
      return { code: GRPC_CODES.resourceExhausted, message };
    }
    this.#message = Buffer.allocUnsafe(length);
    this.#messageLength = 0;
    return undefined;
  }

  #takeMessage(chunk: Uint8Array, at: number): number {
    const left = (this.#message?.length ?? 0) - this.#messageLength;
    const part = chunk.subarray(at, at + left);
    this.#message?.set(part, this.#messageLength);
    this.#messageLength += part.length;
    return part.length;
  }

  #endMessage(message: Buffer): void {
    this.#headerLength = 0;
    this.#message = undefined;
    this.#onMessage(message);
  }
}
