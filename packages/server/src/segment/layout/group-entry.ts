/** The place of a section in a segment. */
export interface SectionRange {
  readonly offset: number;
  readonly storedLength: number;
  /** The size of the longest page before compression. */
  readonly rawBytesMax: number;
}

export interface GroupEntry {
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly firstTransaction: number;
  readonly transactionCount: number;
  /** The highest dictionary id of earlier groups; -1 in the first. */
  readonly highestBefore: number;
  readonly pageTransactions: number;
  readonly totals: readonly number[];
  /** Where the lengths of the group's pages are stored: a table directly before the first section. */
  readonly pageTable: { readonly offset: number; readonly length: number };
  /** By section number. */
  readonly sections: readonly SectionRange[];
}

/** Returns the number of pages of each paged section of the group. */
export function pageCountOf(group: GroupEntry): number {
  return Math.ceil(group.transactionCount / group.pageTransactions);
}
