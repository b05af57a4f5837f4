/** Makes the rows of a table from a block. */
import type { Block, DecodedValue } from '@sluice/client';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { RowContext, ValueReader } from './read-value.ts';
import type { TableSource } from './table-spec.ts';

/** The values of a row in the order of the columns. */
export type Row = readonly unknown[];

type Values = Readonly<Record<string, unknown>>;

/** A block without the types that depend on its query. */
export type PlainBlock = { readonly header: Values } & Readonly<
  Record<RecordArray, readonly Values[]>
>;

export function plainBlocks(blocks: readonly Block[]): readonly PlainBlock[] {
  return blocks as unknown as readonly PlainBlock[];
}

export interface RowOptions {
  readonly source: TableSource;
  /** The names of the events that become rows. If the list is empty, all events do. */
  readonly eventNames: readonly string[];
  readonly readers: readonly ValueReader[];
  readonly usesTransaction: boolean;
  readonly usesDecimals: boolean;
}

export class RowBuilder {
  readonly #options: RowOptions;
  readonly #eventNames: ReadonlySet<string>;

  constructor(options: RowOptions) {
    this.#options = options;
    this.#eventNames = new Set(options.eventNames);
  }

  rowsOf(block: PlainBlock): Row[] {
    const { source, usesTransaction, usesDecimals } = this.#options;
    const context: RowContext = {
      header: block.header,
      record: block.header,
      transaction: undefined,
      decoded: undefined,
      event: undefined,
      decimalsOf: () => null,
    };
    if (source === 'blocks') return [this.#readRow(context)];
    const transactions = usesTransaction ? byIndex(block.transactions) : undefined;
    const decimals = usesDecimals ? new DecimalsTable(block.tokenBalances) : undefined;
    const rows: Row[] = [];
    const records = block[source === 'events' ? 'instructions' : source];
    for (const [position, record] of records.entries()) {
      const index = record['transactionIndex'];
      context.record = source === 'rewards' ? { ...record, rewardIndex: position } : record;
      context.transaction = transactions?.get(index);
      context.decoded = record['decoded'] as DecodedValue | undefined;
      if (decimals !== undefined) context.decimalsOf = (mint) => decimals.find(index, mint);
      if (source === 'events') this.#addEvents(context, rows);
      else rows.push(this.#readRow(context));
    }
    return rows;
  }

  #addEvents(context: RowContext, rows: Row[]): void {
    const { record, decoded } = context;
    for (const [eventIndex, event] of (decoded?.events ?? []).entries()) {
      if (this.#eventNames.size > 0 && !this.#eventNames.has(event.name ?? '')) continue;
      context.event = event;
      context.record = { ...record, eventIndex };
      rows.push(this.#readRow(context));
    }
  }

  #readRow(context: RowContext): Row {
    const { readers } = this.#options;
    const row: unknown[] = new Array(readers.length);
    for (let i = 0; i < readers.length; i++) row[i] = readers[i]?.read(context);
    return row;
  }
}

function byIndex(transactions: readonly Values[]): ReadonlyMap<unknown, Values> {
  return new Map(transactions.map((transaction) => [transaction['transactionIndex'], transaction]));
}

/** The decimals of the mints in the token balances of each transaction. */
class DecimalsTable {
  readonly #decimals = new Map<string, unknown>();

  constructor(balances: readonly Values[]) {
    for (const balance of balances) {
      const index = balance['transactionIndex'];
      this.#add(index, balance['preMint'], balance['preDecimals']);
      this.#add(index, balance['postMint'], balance['postDecimals']);
    }
  }

  #add(index: unknown, mint: unknown, decimals: unknown): void {
    if (typeof mint === 'string') this.#decimals.set(`${index} ${mint}`, decimals);
  }

  find(index: unknown, mint: unknown): unknown {
    return this.#decimals.get(`${index} ${mint}`) ?? null;
  }
}
