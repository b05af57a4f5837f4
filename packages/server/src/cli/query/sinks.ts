import type { BlocksBatch, RollbackBatch } from '@sluice/client';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { BlockWriter, ReadBlock } from './block-writer.ts';
import type { OutFile } from './out-file.ts';

export interface BlockSink {
  /** Writes blocks. Returns false if the reader has closed the output. */
  take(blocks: readonly ReadBlock[], batch: BlocksBatch, nowMs: number): Promise<boolean>;
  rollBack(batch: RollbackBatch): Promise<void>;
  end(): Promise<void>;
  close(): Promise<void>;
}

/** Writes to a stream with backpressure. A reader that closes it, as `head` does, ends the query. */
export function createStreamSink(out: NodeJS.WritableStream, writer: BlockWriter): BlockSink {
  let isGone = false;
  let isBegun = false;
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    isGone = true;
  };
  out.on('error', onError);
  const write = async (text: string) => {
    if (text === '' || isGone) return;
    if (!out.write(text)) await drained(out);
  };
  const begin = async () => {
    if (!isBegun) await write(writer.begin());
    isBegun = true;
  };
  return {
    take: async (blocks) => {
      await begin();
      const texts = blocks.map((block) => writer.write(block));
      await write(texts.join('') + writer.flush());
      return !isGone;
    },
    rollBack: async () => undefined,
    end: async () => {
      await begin();
      await write(writer.end());
    },
    close: async () => void out.off('error', onError),
  };
}

/** Resolves when a stream accepts more data or is closed. */
function drained(out: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      out.off('drain', done);
      out.off('close', done);
      resolve();
    };
    out.on('drain', done);
    out.on('close', done);
  });
}

export function createFileSink(file: OutFile, writer: BlockWriter): BlockSink {
  return {
    take: async (blocks, { cursor, finalizedHead }, nowMs) => {
      await file.append(blocks.map((block) => [block.header.number, writer.write(block)] as const));
      await file.note(cursor, finalizedHead?.number, nowMs);
      return true;
    },
    rollBack: ({ to, cursor }) => file.rollBack(to.number, cursor),
    end: async () => undefined,
    close: () => file.close(),
  };
}

/** Counts blocks that have records, and the records, instead of writing them. */
export class CountSink implements BlockSink {
  readonly counts: Record<string, number> = { blocks: 0 };

  /** The kinds to count. Each is printed even if there is no record of it. */
  constructor(arrays: readonly RecordArray[]) {
    for (const array of arrays) this.counts[array] = 0;
  }

  async take(blocks: readonly ReadBlock[]): Promise<boolean> {
    for (const block of blocks) {
      const counts = Object.entries(block).flatMap(([name, value]) =>
        Array.isArray(value) && value.length > 0 ? [{ name, count: value.length }] : [],
      );
      if (counts.length > 0) this.#add('blocks', 1);
      for (const { name, count } of counts) this.#add(name, count);
    }
    return true;
  }

  #add(name: string, count: number): void {
    this.counts[name] = (this.counts[name] ?? 0) + count;
  }

  async rollBack(): Promise<void> {}
  async end(): Promise<void> {}
  async close(): Promise<void> {}
}
