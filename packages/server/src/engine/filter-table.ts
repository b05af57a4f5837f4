/**
 * How the engine tests each filter of the request table, and the kernel's bit of each relation. A filter or relation without
 * an entry here does not compile, nor does a test that does not fit the values of its filter.
 */

import {
  TARGET_ANY_ACCOUNT,
  TARGET_ANY_KEY,
  TARGET_FEE_PAYER,
  TARGET_PROGRAM,
  WITH_BALANCES,
  WITH_INNER,
  WITH_INSTRUCTIONS,
  WITH_LOGS,
  WITH_OWN_INSTRUCTION,
  WITH_OWN_LOGS,
  WITH_PARENTS,
  WITH_TOKEN_BALANCES,
  WITH_TRANSACTION,
} from '@sluice/kernels/layout/selection';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { FilterName, ITEMS, RelationName } from '@sluice/protocol/request-table';
import type { ColumnName } from '../segment/layout/columns.ts';
import type { MadeColumn } from './make-column.ts';

/** A column that holds positions in the key list of the row's transaction. */
export type PositionColumn = { readonly isNullable: boolean } & (
  | { readonly stored: ColumnName }
  | { readonly made: MadeColumn }
);

/** The row's addresses that an address filter is compared with. One of them must be in the list. */
export type AddressTest =
  /** Keys of a transaction, or accounts of an instruction. `target` is one of the kernel's `TARGET_` numbers or an account position. */
  | { readonly by: 'target'; readonly target: number }
  /** One column, or two columns; a row matches if either of them does. */
  | {
      readonly by: 'columns';
      readonly columns: readonly [PositionColumn] | readonly [PositionColumn, PositionColumn];
    }
  | { readonly by: 'rewardKey' };

export type FilterTest =
  | AddressTest
  /** The start of the data of an instruction. */
  | { readonly by: 'data' }
  | { readonly by: 'logKind' }
  /** Whether the transaction succeeded. */
  | { readonly by: 'outcome' };

type TestOf<Row> = Row extends { value: 'address' }
  ? AddressTest
  : Row extends { value: 'discriminator' | 'prefix' }
    ? { readonly by: 'data' }
    : Row extends { value: 'logKind' }
      ? { readonly by: 'logKind' }
      : { readonly by: 'outcome' };

const target = (number: number) => ({ by: 'target', target: number }) as const;
const data = { by: 'data' } as const;
const outcome = { by: 'outcome' } as const;
const stored = (name: ColumnName): PositionColumn => ({ stored: name, isNullable: false });
const nullable = (name: ColumnName): PositionColumn => ({ stored: name, isNullable: true });
const made = (name: MadeColumn): PositionColumn => ({ made: name, isNullable: true });
const column = (position: PositionColumn) => ({ by: 'columns', columns: [position] }) as const;
const either = (first: PositionColumn, second: PositionColumn) =>
  ({ by: 'columns', columns: [first, second] }) as const;

const [preMint, postMint] = [nullable('tokPreMint'), made('tokenPostMint')];
const [preOwner, postOwner] = [nullable('tokPreOwner'), made('tokenPostOwner')];

const FILTER_TESTS: {
  readonly [A in RecordArray]: {
    readonly [Name in FilterName<A>]: TestOf<(typeof ITEMS)[A]['filters'][Name]>;
  };
} = {
  transactions: {
    feePayer: target(TARGET_FEE_PAYER),
    mentionsAccount: target(TARGET_ANY_KEY),
    isCommitted: outcome,
  },
  instructions: {
    programId: target(TARGET_PROGRAM),
    ...{ d1: data, d2: data, d3: data, d4: data, d5: data, d6: data, d7: data, d8: data },
    discriminator: data,
    ...{ a0: target(0), a1: target(1), a2: target(2), a3: target(3), a4: target(4) },
    ...{ a5: target(5), a6: target(6), a7: target(7), a8: target(8), a9: target(9) },
    ...{ a10: target(10), a11: target(11), a12: target(12), a13: target(13), a14: target(14) },
    a15: target(15),
    mentionsAccount: target(TARGET_ANY_ACCOUNT),
    isCommitted: outcome,
  },
  logs: {
    programId: column(stored('logProgram')),
    kind: { by: 'logKind' },
  },
  balances: { account: column(stored('balAccount')) },
  tokenBalances: {
    account: column(stored('tokAccount')),
    preProgramId: column(nullable('tokPreProgram')),
    postProgramId: column(made('tokenPostProgram')),
    preMint: column(preMint),
    postMint: column(postMint),
    preOwner: column(preOwner),
    postOwner: column(postOwner),
    mint: either(preMint, postMint),
    owner: either(preOwner, postOwner),
  },
  rewards: { pubkey: { by: 'rewardKey' } },
};

export function filterTest<A extends RecordArray>(array: A, name: FilterName<A>): FilterTest {
  return FILTER_TESTS[array][name];
}

const RELATION_BITS: {
  readonly [A in RecordArray]: { readonly [Name in RelationName<A>]: number };
} = {
  transactions: {
    instructions: WITH_INSTRUCTIONS,
    balances: WITH_BALANCES,
    tokenBalances: WITH_TOKEN_BALANCES,
    logs: WITH_LOGS,
  },
  instructions: {
    transaction: WITH_TRANSACTION,
    transactionBalances: WITH_BALANCES,
    transactionTokenBalances: WITH_TOKEN_BALANCES,
    transactionInstructions: WITH_INSTRUCTIONS,
    innerInstructions: WITH_INNER,
    parentInstructions: WITH_PARENTS,
    logs: WITH_OWN_LOGS,
  },
  logs: { instruction: WITH_OWN_INSTRUCTION, transaction: WITH_TRANSACTION },
  balances: { transaction: WITH_TRANSACTION, transactionInstructions: WITH_INSTRUCTIONS },
  tokenBalances: {
    transaction: WITH_TRANSACTION,
    transactionInstructions: WITH_INSTRUCTIONS,
    transactionBalances: WITH_BALANCES,
    transactionTokenBalances: WITH_TOKEN_BALANCES,
  },
  rewards: {},
};

export function relationBit<A extends RecordArray>(array: A, name: RelationName<A>): number {
  return RELATION_BITS[array][name];
}
