import { crc32 } from 'node:zlib';

export interface Chunk {
  readonly length: number;
  readonly crc: number;
  /** Undefined if the chunk arrived in several reads and was not kept. Overwritten by the next read. */
  readonly bytes: Buffer | undefined;
}

export interface ChunkReaderDependencies {
  readonly onStatus: (status: number, headers: string) => void;
  readonly onChunk: (chunk: Chunk) => void;
  /** Called after the last chunk. */
  readonly onEnd: () => void;
}

const lineFeed = 10;
const headBytesMax = 16 * 1024;

/** Reads a chunked HTTP response with as little work as possible: bytes are checksummed and skipped. */
export class ChunkReader {
  readonly #dependencies: ChunkReaderDependencies;
  #state: 'head' | 'size' | 'data' | 'tail' | 'end' = 'head';
  #text = '';
  #left = 0;
  #length = 0;
  #crc = 0;
  #kept: Buffer[] = [];
  /** Whether chunks that arrive in several reads are assembled. */
  isKeeping = true;

  constructor(dependencies: ChunkReaderDependencies) {
    this.#dependencies = dependencies;
  }

  read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(bytes);
          break;
        case 'size':
          at = this.#readSize(bytes, at);
          break;
        case 'data':
          at = this.#readData(bytes, at);
          break;
        case 'tail':
          // The line break after a chunk.
          if (bytes[at] === lineFeed) this.#state = 'size';
          at++;
          break;
        case 'end':
          return;
      }
    }
  }

  #readHead(bytes: Buffer): number {
    const known = this.#text.length;
    this.#text += bytes.toString('latin1', 0, headBytesMax);
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return bytes.length;
    const head = this.#text.slice(0, end);
    this.#text = '';
    this.#state = 'size';
    this.#dependencies.onStatus(Number(head.slice(9, 12)), head);
    return end + 4 - known;
  }

  #readSize(bytes: Buffer, start: number): number {
    const end = bytes.indexOf(lineFeed, start);
    this.#text += bytes.toString('latin1', start, end < 0 ? bytes.length : end);
    if (end < 0) return bytes.length;
    this.#length = Number.parseInt(this.#text, 16);
    this.#text = '';
    this.#left = this.#length;
    this.#crc = 0;
    this.#state = this.#length === 0 ? 'end' : 'data';
    if (this.#length === 0) this.#dependencies.onEnd();
    return end + 1;
  }

  #readData(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + this.#left);
    const part = bytes.subarray(start, end);
    const isWhole = part.length === this.#length;
    this.#crc = crc32(part, this.#crc);
    this.#left -= part.length;
    if (this.isKeeping && !isWhole) this.#kept.push(Buffer.from(part));
    if (this.#left > 0) return end;
    const kept = this.isKeeping ? Buffer.concat(this.#kept) : undefined;
    this.#kept = [];
    this.#state = 'tail';
    this.#dependencies.onChunk({
      length: this.#length,
      crc: this.#crc,
      bytes: isWhole ? part : kept,
    });
    return end;
  }
}
