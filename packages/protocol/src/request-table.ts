/**
 * The table of all filters and flags: the items of each array of a query, with their filters and the flags that include
 * related records. Schemas, types, parsing and documentation are derived from it.
 */
import type { RECORD_ARRAYS, RecordArray } from './field-table.ts';

/**
 * The values of a filter. All types except `boolean` take a list, or a single value as a list of one.
 *
 *   address        base58 of 32 bytes, or a set of addresses by its name
 *   discriminator  `0x` and the hex digits of exactly `bytes` bytes: the start of the data
 *   prefix         `0x` and the hex digits of up to `bytes` bytes: the start of the data
 *   name           a name of an IDL
 */
export type FilterRow = {
  readonly text: string;
  readonly ext?: true;
} & (
  | { readonly value: 'address' | 'logKind' | 'boolean' | 'name' }
  | { readonly value: 'discriminator' | 'prefix'; readonly bytes: number }
);

export interface RelationRow {
  readonly brings: RecordArray;
  readonly text: string;
  readonly ext?: true;
}

export interface ItemRow {
  readonly filters: Readonly<Record<string, FilterRow>>;
  /** Filters that a service replaces by others when it parses a query. */
  readonly replaced?: Readonly<Record<string, FilterRow>>;
  readonly relations: Readonly<Record<string, RelationRow>>;
}

const address = <Text extends string>(text: Text) => ({ value: 'address', text }) as const;

const discriminator = <Bytes extends number>(bytes: Bytes) =>
  ({
    value: 'discriminator',
    bytes,
    text: bytes === 1 ? 'The first byte of the data.' : `The first ${bytes} bytes of the data.`,
  }) as const;

/** An extension: a filter that is not part of the core interface. */
const extension = <Row extends FilterRow>(row: Row) => ({ ...row, ext: true }) as const;

const position = (index: number) => address(`The account at position ${index}.`);

const transaction = {
  brings: 'transactions',
  text: 'The transaction of the record.',
} as const satisfies RelationRow;

const transactionInstructions = {
  brings: 'instructions',
  text: 'All instructions of the transaction.',
} as const satisfies RelationRow;

const transactionBalances = {
  brings: 'balances',
  text: 'All native balance updates of the transaction.',
} as const satisfies RelationRow;

const transactionTokenBalances = {
  brings: 'tokenBalances',
  text: 'All token balance updates of the transaction.',
} as const satisfies RelationRow;

export const ITEMS = {
  transactions: {
    filters: {
      feePayer: address('The account that paid the fee.'),
      mentionsAccount: address('Any static key or loaded address of the transaction.'),
      isCommitted: {
        value: 'boolean',
        ext: true,
        text: 'Whether it succeeded. An unknown outcome matches neither value.',
      },
    },
    relations: {
      instructions: transactionInstructions,
      balances: transactionBalances,
      tokenBalances: transactionTokenBalances,
      logs: { brings: 'logs', text: 'All logs of the transaction.' },
    },
  },
  instructions: {
    filters: {
      programId: address('The program that ran.'),
      d1: discriminator(1),
      d2: discriminator(2),
      d3: discriminator(3),
      d4: discriminator(4),
      d5: discriminator(5),
      d6: discriminator(6),
      d7: discriminator(7),
      d8: discriminator(8),
      discriminator: {
        value: 'prefix',
        bytes: 16,
        ext: true,
        text: 'The start of the data, 0 to 16 bytes; values may differ in length.',
      },
      a0: position(0),
      a1: position(1),
      a2: position(2),
      a3: position(3),
      a4: position(4),
      a5: position(5),
      a6: position(6),
      a7: position(7),
      a8: position(8),
      a9: position(9),
      a10: position(10),
      a11: position(11),
      a12: position(12),
      a13: position(13),
      a14: position(14),
      a15: position(15),
      mentionsAccount: address('Any account in the list of the instruction.'),
      isCommitted: { value: 'boolean', text: 'Whether the transaction succeeded.' },
    },
    replaced: {
      name: {
        value: 'name',
        ext: true,
        text: 'The start of the data that the IDLs of the programs in `programId` give an instruction with this name.',
      },
    },
    relations: {
      transaction,
      transactionBalances,
      transactionTokenBalances,
      transactionInstructions,
      innerInstructions: {
        brings: 'instructions',
        text: 'The calls it made, at any depth.',
      },
      parentInstructions: {
        brings: 'instructions',
        ext: true,
        text: 'The instructions that led to it, up to the top level.',
      },
      logs: { brings: 'logs', text: 'The logs it wrote itself.' },
    },
  },
  logs: {
    filters: {
      programId: address('The program that wrote the line.'),
      kind: { value: 'logKind', text: 'The kind of the line.' },
    },
    relations: {
      instruction: { brings: 'instructions', text: 'The instruction that wrote the line.' },
      transaction,
    },
  },
  balances: {
    filters: { account: address('The account whose balance changed.') },
    relations: { transaction, transactionInstructions },
  },
  tokenBalances: {
    filters: {
      account: address('The token account.'),
      preProgramId: address('Token program before.'),
      postProgramId: address('Token program after.'),
      preMint: address('Mint before.'),
      postMint: address('Mint after.'),
      preOwner: address('Owner before.'),
      postOwner: address('Owner after.'),
      mint: extension(address('Mint before or after.')),
      owner: extension(address('Owner before or after.')),
    },
    relations: {
      transaction,
      transactionInstructions,
      transactionBalances: { ...transactionBalances, ext: true },
      transactionTokenBalances: { ...transactionTokenBalances, ext: true },
    },
  },
  rewards: {
    filters: { pubkey: address('The account that gets the reward.') },
    relations: {},
  },
} as const satisfies Record<keyof typeof RECORD_ARRAYS, ItemRow>;

export type FilterName<A extends RecordArray> = keyof (typeof ITEMS)[A]['filters'] & string;
export type RelationName<A extends RecordArray> = keyof (typeof ITEMS)[A]['relations'] & string;

export function filterRows<A extends RecordArray>(
  array: A,
): readonly (readonly [FilterName<A>, FilterRow])[] {
  return Object.entries<FilterRow>(ITEMS[array].filters) as [FilterName<A>, FilterRow][];
}

/** Returns the filters that are replaced by others. */
export function replacedRows(array: RecordArray): readonly (readonly [string, FilterRow])[] {
  const row: ItemRow = ITEMS[array];
  return Object.entries(row.replaced ?? {});
}

export function relationRows<A extends RecordArray>(
  array: A,
): readonly (readonly [RelationName<A>, RelationRow])[] {
  return Object.entries<RelationRow>(ITEMS[array].relations) as [RelationName<A>, RelationRow][];
}

/** Returns a description of a filter's values as Markdown. */
export function describeValues(row: FilterRow): string {
  switch (row.value) {
    case 'address':
      return 'base58 of 32 bytes, or `{ "set": NAME }`';
    case 'logKind':
      return '`log`, `data`, `other`';
    case 'boolean':
      return '`true` or `false`, no list';
    case 'name':
      return 'a name of the IDL';
    default:
      return row.value === 'prefix'
        ? `\`0x\` and up to ${2 * row.bytes} hex digits, an even number`
        : `\`0x\` and ${2 * row.bytes} hex digits`;
  }
}
