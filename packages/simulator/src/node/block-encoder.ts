/**
 * Encodes blocks for streams before they are confirmed. A real node has the content of a block in memory by then; a simulated one has its JSON,
 * and encoding a block of mainnet size takes a tenth of a second or more. A thread does this, so that the node can answer meanwhile.
 */
import { Worker } from 'node:worker_threads';
import { workerUrl } from '@sluice/base/worker-url';
import { type BlockParts, encodeBlockParts, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { encodeSubscribeUpdate, readSubscribeUpdate } from '@sluice/grpc/subscribe-update';
import { LRUCache } from 'lru-cache';
import type { ChainBlock } from '../chain/chain-block.ts';

export interface EncodedBlock {
  readonly parts: BlockParts;
  /** The whole block as an update. */
  readonly update: Uint8Array;
}

export interface EncodeRequest {
  readonly hash: string;
  readonly slot: number;
  readonly json: Uint8Array;
}

export interface EncodeReply {
  readonly hash: string;
  readonly update: Uint8Array;
}

/** The encoded blocks that are remembered. */
const encodedCountMax = 32;
/** Smaller blocks take some milliseconds, which is less than starting a thread. */
const threadBytesMin = 256 * 1024;

export class BlockEncoder {
  readonly #readJson: (block: ChainBlock) => Uint8Array;
  readonly #encoded = new LRUCache<string, EncodedBlock>({ max: encodedCountMax });
  /** The hashes of the blocks that the thread encodes. */
  readonly #waiting = new Set<string>();
  #worker: Worker | undefined;

  constructor(readJson: (block: ChainBlock) => Uint8Array) {
    this.#readJson = readJson;
  }

  /** Encodes a block that will be sent soon, in the thread if it is large. */
  prepare(block: ChainBlock): void {
    const { blockhash: hash, slot } = block;
    if (this.#encoded.has(hash) || this.#waiting.has(hash)) return;
    const json = this.#readJson(block);
    if (json.length < threadBytesMin) {
      this.get(block);
      return;
    }
    this.#waiting.add(hash);
    this.#worker ??= this.#start();
    const copy = Uint8Array.from(json);
    const request: EncodeRequest = { hash, slot, json: copy };
    this.#worker.postMessage(request, [copy.buffer]);
  }

  /** Returns a block, which is encoded now unless it was prepared. */
  get(block: ChainBlock): EncodedBlock {
    const { blockhash, slot } = block;
    const known = this.#encoded.get(blockhash);
    if (known !== undefined) return known;
    const parts = encodeBlockParts(slot, parseJsonBlock(this.#readJson(block)));
    const encoded = { parts, update: encodeSubscribeUpdate({ kind: 'block', ...parts }) };
    this.#encoded.set(blockhash, encoded);
    return encoded;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): Worker {
    const worker = new Worker(workerUrl(import.meta.url, './encode-worker.ts'), {
      env: {},
      execArgv: [],
    });
    worker.unref();
    worker.on('message', ({ hash, update }: EncodeReply) => {
      this.#waiting.delete(hash);
      const parts = readSubscribeUpdate(update);
      if (parts.kind === 'block') this.#encoded.set(hash, { parts, update });
    });
    // The blocks are encoded by `get` then.
    worker.on('error', () => this.#waiting.clear());
    return worker;
  }
}
