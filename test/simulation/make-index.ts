/** Makes an index as the thread does, whose code runs here in the turn of its process. */
import type {
  IndexFiles,
  IndexReply,
} from '../../packages/server/src/dataset/history/index-thread.ts';
import { makeIndex } from '../../packages/server/src/dataset/history/make-index.ts';
import type { IndexTransfer } from '../../packages/server/src/dataset/history/transfer-channel.ts';
import type { WriteAt } from '../../packages/server/src/storage/range-file.ts';
import type { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';

interface MadeIndex {
  readonly reply: IndexReply;
  readonly bytes: Uint8Array;
}

/** With a transfer, the inputs are in memory. Without one, they are read from the disk. */
function makeIn(
  files: IndexFiles,
  disk: SimFs,
  inputs?: ReadonlyMap<string, Uint8Array>,
): MadeIndex {
  let bytes = new Uint8Array(0);
  const reply = makeIndex(files, {
    openFile: (path) => disk.openRange(path),
    openIndex: (name) => {
      const input = inputs?.get(name);
      if (input === undefined) return disk.openRange(name);
      const read = (position: number, length: number) =>
        input.subarray(position, position + length);
      return { read, close: () => undefined };
    },
    writeFile: (_path, fill) => {
      const collected = collectWrites(fill);
      bytes = collected.bytes;
      return collected.result;
    },
  });
  return { reply, bytes };
}

/** Makes an index and passes its bytes, or each piece of them, to `write`. */
export async function makeIndexInTurn(
  files: IndexFiles,
  disk: SimFs,
  write: (path: string, bytes: Uint8Array) => Promise<void>,
  transfer?: IndexTransfer,
): Promise<IndexReply> {
  if (transfer === undefined) {
    const { reply, bytes } = makeIn(files, disk);
    if (reply.kind === 'made') await write(files.target, bytes);
    return reply;
  }
  const inputs = new Map<string, Uint8Array>();
  for (const name of files.runs)
    inputs.set(name, await transfer.read(name, 0, Number.MAX_SAFE_INTEGER));
  const { reply, bytes } = makeIn(files, disk, inputs);
  if (reply.kind === 'failed') return reply;
  const { pieceBytes } = transfer;
  for (let number = 0; number * pieceBytes < bytes.length; number++) {
    const path = `${files.target}.${number}`;
    await write(path, bytes.subarray(number * pieceBytes, (number + 1) * pieceBytes));
    await transfer.store(number, path);
  }
  return reply;
}

function collectWrites<Result>(fill: (write: WriteAt) => Result) {
  let bytes = new Uint8Array(0);
  const result = fill((position, part) => {
    if (position + part.length > bytes.length) {
      const grown = new Uint8Array(position + part.length);
      grown.set(bytes);
      bytes = grown;
    }
    bytes.set(part, position);
  });
  return { result, bytes };
}
