/** Blocks in binary forms give the same records as the `getBlock` results of the same blocks. */
import { readFileSync } from 'node:fs';
import { storeAsZstd } from '@sluice/grpc/encode-archive';
import {
  encodeProtobufBlock,
  encodeTransactionError,
  type JsonBlock,
  type JsonMeta,
} from '@sluice/grpc/encode-json-block';
import { instructionErrors, transactionErrors } from '@sluice/grpc/error-variants';
import { fnv64a } from '@sluice/grpc/frame-checksum';
import { toSlot } from '@sluice/ledger/primitives';
import { describe, expect, test } from 'vitest';
import { kindOf, readBlockNode, readEntryNode } from '../archive/archive-nodes.ts';
import { readArchiveBlock } from '../archive/read-archive-block.ts';
import { isArchive, readArchiveFile } from '../archive/read-archive-file.ts';
import { chunkReader } from '../files/byte-window.ts';
import { normalizeBlock } from '../normalize/normalize-block.ts';
import { archiveBytes, type BlockForms, simulatedForms } from '../testing/binary-forms.ts';
import { encodeBincodeMeta } from '../testing/encode-bincode-meta.ts';
import { address, keys, rawBlock, rawTransaction, toBytes } from '../testing/raw-block.ts';
import { hasRealData, readRealBlocks, realDataPath } from '../testing/real-data.ts';
import { ByteCursor } from './byte-cursor.ts';
import { readProtobufBlock } from './read-protobuf-block.ts';
import { readTransactionError } from './read-transaction-error.ts';

const lenient = { metaOptional: true, allowMissing: ['logs', 'rewards'], votes: 'keep' } as const;
const origin = { slot: toSlot(1), part: 'test' };

function expectSameRecords({ slot, json, protobuf, block }: BlockForms): void {
  for (const votes of ['keep', 'drop'] as const) {
    const options = { ...lenient, votes };
    const expected = normalizeBlock(slot, json, options);
    expect(readProtobufBlock(slot, protobuf, options)).toEqual(expected);
    expect(readArchiveBlock(slot, archiveBytes(slot, block), options)).toEqual(expected);
  }
}

describe('the simulated ledger', () => {
  const content = { transactionsPerBlock: 30, votes: 5, epochRewardsPerBlock: 40 };

  test.each([1, 2, 3, 4])(
    'property: every block has the same records in all forms, seed %i',
    (seed) => {
      for (const forms of simulatedForms(6, content, seed)) expectSameRecords(forms);
    },
  );

  test('behavior: data in several frames is joined, with either checksum', () => {
    const [forms] = simulatedForms(1, content) as [BlockForms];
    const expected = normalizeBlock(forms.slot, forms.json, lenient);
    for (const encoding of [{ frameBytes: 100 }, { frameBytes: 257, checksum: fnv64a }]) {
      const bytes = archiveBytes(forms.slot, forms.block, encoding);
      expect(readArchiveBlock(forms.slot, bytes, lenient)).toEqual(expected);
    }
    const wrong = { frameBytes: 100, checksum: () => 5n };
    expect(() =>
      readArchiveBlock(forms.slot, archiveBytes(forms.slot, forms.block, wrong), lenient),
    ).toThrow('checksum');
  });

  test('behavior: metadata in the older form gives the records that it contains', () => {
    const [forms] = simulatedForms(1, content) as [BlockForms];
    const old = withoutNewValues(forms.block);
    const bytes = archiveBytes(forms.slot, old, { encodeMeta: encodeBincodeMeta });
    const json = toBytes(old);
    expect(readArchiveBlock(forms.slot, bytes, lenient)).toEqual(
      normalizeBlock(forms.slot, json, lenient),
    );
  });

  test('behavior: a transaction without metadata is read if the dataset allows it', () => {
    const [forms] = simulatedForms(1, content) as [BlockForms];
    const transactions = forms.block.transactions.map((one) => ({ ...one, meta: null }));
    // Without metadata the addresses of lookups are unknown, so only legacy transactions can be read.
    const bare = {
      ...forms.block,
      transactions: transactions.filter(({ version }) => version === 'legacy'),
    };
    const expected = normalizeBlock(forms.slot, toBytes(bare), lenient);
    expect(expected.counts.missingMeta).toBeGreaterThan(0);
    expect(readArchiveBlock(forms.slot, archiveBytes(forms.slot, bare), lenient)).toEqual(expected);
    expect(readProtobufBlock(forms.slot, encodeProtobufBlock(bare), lenient)).toEqual(expected);
    expect(() => readArchiveBlock(forms.slot, archiveBytes(forms.slot, bare))).toThrow(
      expect.objectContaining({ code: 'block-meta-missing' }),
    );
  });
});

/** Returns the block as nodes stored it before they recorded heights, lookups, units and owners. */
function withoutNewValues(block: JsonBlock): JsonBlock {
  const side = (list: JsonMeta['preTokenBalances']) =>
    list?.map(({ owner: _, programId: __, ...rest }) => rest) ?? null;
  const transactions = block.transactions
    .filter(({ version, meta }) => version === 'legacy' && meta !== null)
    .map((one) => {
      const { loadedAddresses: _, computeUnitsConsumed: __, ...meta } = one.meta as JsonMeta;
      const innerInstructions =
        meta.innerInstructions?.map(({ index, instructions }) => ({
          index,
          instructions: instructions.map(({ stackHeight: ___, ...rest }) => rest),
        })) ?? null;
      const tokens = {
        preTokenBalances: side(meta.preTokenBalances),
        postTokenBalances: side(meta.postTokenBalances),
      };
      return { ...one, meta: { ...meta, ...tokens, innerInstructions } };
    });
  expect(transactions.length).toBeGreaterThan(5);
  return { ...block, transactions };
}

describe('errors of transactions', () => {
  const all: unknown[] = transactionErrors.map((name) => {
    if (name === 'InstructionError') return { [name]: [7, 'GenericError'] };
    if (name === 'DuplicateInstruction') return { [name]: 3 };
    const hasIndex = name === 'InsufficientFundsForRent' || name.startsWith('ProgramExecution');
    return hasIndex ? { [name]: { account_index: 255 } } : name;
  });
  for (const name of instructionErrors) {
    all.push({ InstructionError: [255, name === 'Custom' ? { Custom: 4_294_967_295 } : name] });
  }
  all.push({ InstructionError: [0, { BorshIoError: 'Unknown' }] });

  test('default: every variant is read as nodes write it, BorshIoError in both forms', () => {
    expect(all).toHaveLength(39 + 54 + 1);
    for (const err of all) {
      const bytes = encodeTransactionError(err);
      expect(readTransactionError(new ByteCursor(bytes, origin), true)).toEqual(err);
    }
  });

  test('error: an unknown variant is refused with its offset', () => {
    for (const bytes of [
      [39, 0, 0, 0],
      [8, 0, 0, 0, 1, 54, 0, 0, 0],
    ]) {
      expect(() =>
        readTransactionError(new ByteCursor(Uint8Array.from(bytes), origin), true),
      ).toThrow(
        expect.objectContaining({
          code: 'block-bytes-invalid',
          detail: expect.objectContaining({ offset: bytes.length - 4 }),
        }),
      );
    }
  });
});

test('error: a transaction of an unknown version is refused with its number', () => {
  const block = rawBlock([rawTransaction({ version: 5 })]) as unknown as JsonBlock;
  expect(() => readArchiveBlock(toSlot(1000), archiveBytes(1000, block), lenient)).toThrow(
    expect.objectContaining({
      code: 'block-version-unknown',
      detail: { slot: 1000, transaction: 0, version: 5 },
    }),
  );
});

test('behavior: integers of 64 bits are exact', () => {
  const big = 2n ** 64n - 1n;
  const rewards = [
    {
      pubkey: address(1),
      lamports: -(2n ** 63n),
      postBalance: big,
      rewardType: 'Rent',
      commission: null,
    },
    {
      pubkey: address(2),
      lamports: 2n ** 63n - 1n,
      postBalance: 2n ** 53n + 1n,
      rewardType: 'Voting',
      commission: 100,
    },
  ];
  const meta = {
    fee: big,
    computeUnitsConsumed: 2n ** 53n + 1n,
    preBalances: keys.map((_, i) => big - BigInt(i)),
    postBalances: keys.map((_, i) => BigInt(i)),
  };
  const block = rawBlock([rawTransaction({ meta })], { rewards });
  const expected = normalizeBlock(toSlot(1000), toBytes(block), lenient);
  expect(expected.block.balances).toHaveLength(keys.length);
  const typed = block as unknown as JsonBlock;
  expect(readProtobufBlock(toSlot(1000), encodeProtobufBlock(typed), lenient)).toEqual(expected);
  expect(readArchiveBlock(toSlot(1000), archiveBytes(1000, typed), lenient)).toEqual(expected);
});

test('error: a node that was changed is found by its hash, and a missing node by its link', () => {
  const [{ slot, block }] = simulatedForms(1, { transactionsPerBlock: 3, votes: 1 }) as [
    BlockForms,
  ];
  const bytes = archiveBytes(slot, block);
  const damaged = bytes.slice();
  damaged[200] = (damaged[200] as number) ^ 1;
  expect(() => readArchiveBlock(slot, damaged, lenient)).toThrow('hash of its bytes');
  const first = new ByteCursor(bytes, origin, 32);
  const length = first.varintLength();
  const without = new Uint8Array(
    Buffer.concat([bytes.subarray(0, 32), bytes.subarray(first.at + length)]),
  );
  expect(() => readArchiveBlock(slot, without, lenient)).toThrow('no node with the hash');
  const other = toSlot(slot + 1);
  expect(() => readArchiveBlock(other, bytes, lenient)).toThrow(`a block of slot ${slot}`);
});

test('error: metadata that is not valid Zstandard is refused with the transaction', () => {
  const [{ slot, block }] = simulatedForms(1, { transactionsPerBlock: 3, votes: 1 }) as [
    BlockForms,
  ];
  const compress = (bytes: Uint8Array) => storeAsZstd(bytes).subarray(0, -3);
  const bytes = archiveBytes(slot, { ...block, rewards: [] }, { compress });
  expect(() => readArchiveBlock(slot, bytes, lenient)).toThrow(
    expect.objectContaining({
      code: 'block-bytes-invalid',
      detail: expect.objectContaining({ transaction: 0, part: 'metadata' }),
    }),
  );
});

describe.skipIf(!hasRealData('binary/confirmed-block-18144001.pb'))(
  'real data, skipped if absent',
  () => {
    test.each([18_144_001, 64_800_004])('behavior: block %i has the same records', (number) => {
      const real = readRealBlocks('blocks-various.jsonl.gz').find(({ slot }) => slot === number);
      const bytes = readFileSync(realDataPath(`binary/confirmed-block-${number}.pb`));
      const expected = normalizeBlock(toSlot(number), real?.bytes ?? new Uint8Array(), lenient);
      expect(readProtobufBlock(toSlot(number), bytes, lenient)).toEqual(expected);
    });

    test('behavior: the blocks of an archive have the same records as those of a node', async () => {
      const blocks = new Map(
        readRealBlocks('chain-mainnet-0.jsonl.gz').map(({ slot, bytes }) => [slot, bytes]),
      );
      const chain = { previous: undefined, storedHash: () => Promise.resolve(undefined) };
      const slots: number[] = [];
      for (const path of ['binary/epoch-0-1.car', 'binary/epoch-0-2.car'].map(realDataPath)) {
        const bytes = readFileSync(path);
        expect(isArchive(bytes)).toBe(true);
        const options = { path, blockBytesMax: 1_000_000 };
        for await (const line of readArchiveFile(chunkReader(chunksOf(bytes)), options, chain)) {
          const json = blocks.get(line.slot) ?? new Uint8Array();
          const expected = normalizeBlock(line.slot, json, lenient);
          expect(readArchiveBlock(line.slot, line.bytes, lenient)).toEqual(expected);
          expect(line.hash).toBe(expected.block.header.hash);
          slots.push(line.slot);
        }
      }
      expect(slots).toEqual(Array.from({ length: 20 }, (_, i) => i));
    });

    test('behavior: all real nodes can be read', () => {
      const read = (name: string) =>
        new Uint8Array(readFileSync(realDataPath(`binary/nodes/${name}`)));
      const block = read('block_raw1.bin');
      expect(kindOf(block, 0, block.length)).toBe(2);
      expect(readBlockNode(new ByteCursor(block, origin))).toMatchObject({ slot: 16_848_018 });
      for (let i = 0; i < 4; i++) {
        const { hash } = readEntryNode(new ByteCursor(read(`entry_raw${i}.bin`), origin));
        expect(hash.end - hash.at).toBe(32);
      }
    });
  },
);

/** Yields the bytes in pieces that end anywhere in a section. */
async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 3) % 4099) {
    yield bytes.subarray(at, at + size);
  }
}
