/** Files of archives and protobufs give their blocks, however they are cut into chunks, and damage gives coded errors. */
import { CodedError } from '@sluice/base/errors';
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import { encodeArchive } from '@sluice/grpc/encode-archive';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ArchiveChain, readArchiveFile } from '../archive/read-archive-file.ts';
import { readProtobufFile } from '../binary/read-protobuf-file.ts';
import { simulatedForms } from '../testing/binary-forms.ts';
import { chunkReader } from './byte-window.ts';
import type { BlockLine } from './read-block-lines.ts';

const blockBytesMax = 200_000;
const blocks = simulatedForms(4, { transactionsPerBlock: 1, votes: 1 });
const slots = blocks.map(({ slot }) => slot);
const archive = encodeArchive(blocks).bytes;
const list = new Uint8Array(
  Buffer.concat(blocks.map(({ protobuf }) => new BinaryWriter().delimited(protobuf).finish())),
);
const listName = `${slots[0]}-${slots.at(-1)}.pb`;

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function readArchive(bytes: Uint8Array, size: number): AsyncGenerator<BlockLine> {
  const chain: ArchiveChain = { previous: undefined, storedHash: async () => undefined };
  return readArchiveFile(
    chunkReader(chunksOf(bytes, size)),
    { path: 'a.car', blockBytesMax },
    chain,
  );
}

function readList(bytes: Uint8Array, size: number, path = listName): AsyncGenerator<BlockLine> {
  return readProtobufFile(chunkReader(chunksOf(bytes, size)), { path, blockBytesMax });
}

/** Returns the slots that were read before the end or a coded error. Any other exception is a bug. */
async function slotsOf(
  lines: AsyncIterable<BlockLine>,
): Promise<{ found: number[]; code?: string }> {
  const found: number[] = [];
  try {
    for await (const { slot } of lines) found.push(slot);
    return { found };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { found, code: error.code };
  }
}

test.each([1, 7, 1_000, 1 << 20])(
  'default: all blocks are found in chunks of %i bytes',
  async (size) => {
    expect(await slotsOf(readArchive(archive, size))).toEqual({ found: slots });
    expect(await slotsOf(readList(list, size))).toEqual({ found: slots });
  },
);

test('property: a damaged file gives blocks or a coded error', async () => {
  const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
  let refusedCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.boolean(), edits, fc.nat(), async (isArchive, list_, end) => {
      const damaged = (isArchive ? archive : list).slice();
      for (const [place, byte] of list_) damaged[place % damaged.length] = byte;
      const cut = damaged.subarray(0, end % 3 === 0 ? end % damaged.length : damaged.length);
      const read = isArchive ? readArchive(cut, 4_096) : readList(cut, 4_096);
      const { found, code } = await slotsOf(read);
      if (code !== undefined) refusedCount++;
      expect(found.length).toBeLessThanOrEqual(slots.length + 1);
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 400) },
  );
  expect(refusedCount).toBeGreaterThan(50);
});

test('error: a file that ends in a block, a length that is too large, and a name without slots are refused', async () => {
  const last = slots.slice(0, -1);
  expect(await slotsOf(readArchive(archive.subarray(0, -2_000), 4_096))).toMatchObject({
    code: 'archive-invalid',
  });
  const cut = await slotsOf(readList(list.subarray(0, -1), 4_096));
  expect(cut).toEqual({ found: last.slice(0, -1), code: 'block-file-unreadable' });
  const huge = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3);
  expect(await slotsOf(readList(huge, 8))).toEqual({ found: [], code: 'block-file-unreadable' });
  expect(await slotsOf(readArchive(huge, 8))).toEqual({ found: [], code: 'archive-invalid' });
  expect(await slotsOf(readList(list, 4_096, 'blocks.pb'))).toMatchObject({
    code: 'block-file-unreadable',
  });
  expect(await slotsOf(readList(list, 4_096, `5-${slots.at(-1)}.pb`))).toEqual({
    found: [],
    code: 'block-file-unreadable',
  });
});
