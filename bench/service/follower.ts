import { connect, type Socket } from 'node:net';
import { type Chunk, ChunkReader } from './chunk-reader.ts';
import { datasetName } from './processes.ts';
import { ScenarioFailure } from './scenario.ts';

export interface FollowerDependencies {
  readonly onChunk: (follower: Follower, chunk: Chunk) => void;
  readonly onFault: (error: ScenarioFailure) => void;
}

/** A buffer shared by all clients: each read is processed before the next one. */
const readBuffer = Buffer.allocUnsafe(1 << 18);

/** A client of one stream on a plain socket. */
export class Follower {
  readonly query: number;
  /** Whether the received bytes are kept for a later comparison. */
  readonly isKeeping: boolean;
  readonly kept: Buffer[] = [];
  readonly fromBlock: number;
  lastSlot: number;
  readonly #dependencies: FollowerDependencies;
  #socket: Socket | undefined;
  #isClosed = false;

  constructor(
    options: { readonly query: number; readonly fromBlock: number; readonly isKeeping: boolean },
    dependencies: FollowerDependencies,
  ) {
    this.query = options.query;
    this.isKeeping = options.isKeeping;
    this.fromBlock = options.fromBlock;
    this.lastSlot = options.fromBlock - 1;
    this.#dependencies = dependencies;
  }

  /** Sends the request and resolves when the response begins, which is when there is a block. */
  open(port: number, body: string): Promise<void> {
    return new Promise((resolve) => {
      let isFirst = true;
      const reader = new ChunkReader({
        onStatus: (status, head) => {
          if (status !== 200) this.#fail(head);
          resolve();
        },
        onChunk: (chunk) => {
          if (this.isKeeping && chunk.bytes !== undefined) this.kept.push(Buffer.from(chunk.bytes));
          this.#dependencies.onChunk(this, chunk);
          if (isFirst) reader.isKeeping = this.isKeeping;
          isFirst = false;
        },
        onEnd: () => this.#fail('the response ended'),
      });
      const onread = {
        buffer: readBuffer,
        callback: (length: number) => {
          reader.read(readBuffer.subarray(0, length));
          return true;
        },
      };
      const socket = connect({ host: '127.0.0.1', port, onread });
      this.#socket = socket;
      socket.on('error', (error) => this.#fail(error.message));
      socket.on('close', () => {
        this.#fail('the connection was closed');
        resolve();
      });
      socket.write(requestText(body));
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #fail(what: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#dependencies.onFault(new ScenarioFailure(`a follower at slot ${this.lastSlot}: ${what}`));
  }
}

function requestText(body: string): string {
  return [
    `POST /datasets/${datasetName}/stream HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    'Accept-Encoding: gzip',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
