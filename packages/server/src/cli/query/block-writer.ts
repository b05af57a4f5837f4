import type { RecordArray } from '@sluice/protocol/field-table';

/** A block as the client returns it: 64-bit integers are bigints, and arrays without records are empty. */
export type ReadBlock = {
  readonly header: Readonly<Record<string, unknown>> & {
    readonly number: number;
    readonly hash: string;
  };
} & { readonly [A in RecordArray]?: readonly Readonly<Record<string, unknown>>[] };

/** An output format. Blocks are written in order; `end` returns the text after the last block. */
export interface BlockWriter {
  /** The text before the first block, such as a row of column names. */
  begin(): string;
  write(block: ReadBlock): string;
  /** Returns text that was held back, because the next block may take a while. */
  flush(): string;
  end(): string;
}
