import type { RecordArray } from '@sluice/protocol/field-table';

/** A block as the client returns it: 64-bit integers are bigints, and an array without records is empty. */
export type ReadBlock = {
  readonly header: Readonly<Record<string, unknown>> & {
    readonly number: number;
    readonly hash: string;
  };
} & { readonly [A in RecordArray]?: readonly Readonly<Record<string, unknown>>[] };

/** A form of output. Text of blocks comes in their order; `end` returns what follows the last block. */
export interface BlockWriter {
  /** What comes before the first block, such as a row of column names. */
  begin(): string;
  write(block: ReadBlock): string;
  /** What is held back, to be shown because the next block may take a while. */
  flush(): string;
  end(): string;
}
