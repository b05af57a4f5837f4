import { expectTypeOf, test } from 'vitest';
import type { Client } from '../create-client.ts';
import type { Block, Query } from './query-types.ts';
import type { Batch } from './stream-types.ts';

/** Never called: only the types matter. */
type Check = (client: Client) => Promise<void>;

test('behavior: a selected field has its exact type, an unselected one does not compile', () => {
  const check: Check = async (client) => {
    const query = {
      fromBlock: 0,
      fields: {
        block: { timestamp: true },
        transaction: { fee: true, err: true, version: true },
        tokenBalance: { account: true, postAmount: true, preAmount: false },
      },
      tokenBalances: [{ transaction: true }],
    } as const;
    for await (const batch of client.stream(query)) {
      if (batch.kind === 'rollback') {
        expectTypeOf(batch.to).toEqualTypeOf<{ readonly number: number; readonly hash: string }>();
        continue;
      }
      for (const block of batch.blocks) {
        expectTypeOf(block.header.number).toEqualTypeOf<number>();
        expectTypeOf(block.header.hash).toEqualTypeOf<string>();
        expectTypeOf(block.header.timestamp).toEqualTypeOf<bigint | null>();
        // @ts-expect-error: the height is not selected
        block.header.height;
        for (const balance of block.tokenBalances) {
          expectTypeOf(balance.account).toEqualTypeOf<string>();
          expectTypeOf(balance.postAmount).toEqualTypeOf<bigint | null>();
          // @ts-expect-error: selected with false
          balance.preAmount;
          // @ts-expect-error: not selected
          balance.postMint;
        }
        for (const transaction of block.transactions) {
          expectTypeOf(transaction.fee).toEqualTypeOf<bigint | null>();
          expectTypeOf(transaction.version).toEqualTypeOf<number>();
          // @ts-expect-error: not selected
          transaction.signatures;
        }
        for (const instruction of block.instructions) {
          // @ts-expect-error: no field of instructions is selected
          instruction.data;
        }
        // @ts-expect-error: there is no such array
        block.instruction;
      }
    }
  };
  expectTypeOf(check).toBeFunction();
});

test('default: a query literal keeps its literal types, and without fields it gets the default ones', () => {
  const check: Check = async (client) => {
    for await (const batch of client.stream({ fromBlock: 0, balances: [{}] })) {
      if (batch.kind === 'rollback') continue;
      const [block] = batch.blocks;
      expectTypeOf(block?.balances[0]?.pre).toEqualTypeOf<bigint | undefined>();
      expectTypeOf(block?.header.height).toEqualTypeOf<number | null | undefined>();
      // @ts-expect-error: the time is not sent by default
      block?.header.timestamp;
    }
    for await (const batch of client.stream({ fromBlock: 0, fields: { log: { message: true } } })) {
      if (batch.kind === 'blocks') {
        expectTypeOf(batch.blocks[0]?.logs[0]?.message).toEqualTypeOf<string | undefined>();
      }
    }
  };
  expectTypeOf(check).toBeFunction();
});

test('behavior: the dialect solana has its own forms, but quantities are bigint there too', () => {
  type Line = Block<{
    type: 'solana';
    fromBlock: 0;
    fields: { transaction: { version: true; fee: true }; reward: { pubkey: true; lamports: true } };
  }>;
  expectTypeOf<Line['transactions'][number]['version']>().toEqualTypeOf<number | 'legacy'>();
  expectTypeOf<Line['transactions'][number]['fee']>().toEqualTypeOf<bigint | null>();
  expectTypeOf<Line['rewards'][number]['lamports']>().toEqualTypeOf<bigint>();
});

test('behavior: a field that the compiler cannot know is optional', () => {
  const hash = (): boolean => true;
  type Line = Block<{ fromBlock: 0; fields: { log: { message: ReturnType<typeof hash> } } }>;
  expectTypeOf<Line['logs'][number]['message']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Batch<Query>>().not.toBeAny();
});

test('error: unknown names do not compile', () => {
  const check: Check = async (client) => {
    // @ts-expect-error: the filter is programId
    client.stream({ fromBlock: 0, instructions: [{ programID: 'x' }] });
    // @ts-expect-error: the key is instructions
    client.stream({ fromBlock: 0, instruction: [{}] });
    // @ts-expect-error: the field is feePayer
    client.stream({ fromBlock: 0, fields: { transaction: { feepayer: true } } });
    // @ts-expect-error: the kind is transaction
    client.stream({ fromBlock: 0, fields: { transactions: { fee: true } } });
    // @ts-expect-error: fromBlock is needed
    client.stream({ transactions: [{}] });
    // @ts-expect-error: pubKey is a name of the dialect ledger alone
    client.stream({ fromBlock: 0, type: 'solana', fields: { reward: { pubKey: true } } });
    client.stream({ fromBlock: 0, type: 'solana', fields: { reward: { pubkey: true } } });
    client.stream({ fromBlock: 0, instructions: [{ programId: ['x'], d8: '0x00', logs: true }] });
  };
  expectTypeOf(check).toBeFunction();
});
