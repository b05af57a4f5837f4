import type { GatherExports } from './gather-exports.ts';

/** The exports that the kernel of segments and the engine's kernel have in common. */
export interface PageDecoder {
  decodePages(
    ...args: [
      columns: number,
      columnCount: number,
      pages: number,
      pageTransactions: number,
      counts: number,
      transactionCount: number,
      window: number,
      dictionaryBytes: number,
      rawBytesMax: number,
    ]
  ): number;
  findDamagedChunk(bytes: number, length: number, chunkBytes: number, expected: number): number;
}

/** The functions of `assembly/engine.ts` that the engine calls. Addresses are byte positions in the kernel's memory. */
export interface EngineExports extends PageDecoder, GatherExports {
  readonly BASE58_TABLE_BYTES: { readonly value: number };
  readonly DATA_TEXTS_BYTES: { readonly value: number };
  setDataTexts(at: number): void;
  readonly DECODING_CACHE_BYTES: { readonly value: number };
  setDecodingCache(at: number): void;
  writeDecodedRows(
    ...args: [
      table: number,
      kind: number,
      block: number,
      marks: number,
      flags: number,
      rowStarts: number,
      transaction: number,
      transactionEnd: number,
      starts: number,
      texts: number,
      length: number,
      capacity: number,
    ]
  ): number;
  readTypedRows(
    ...args: [
      table: number,
      layout: number,
      rows: number,
      transactions: number,
      count: number,
      isRead: number,
    ]
  ): void;
  readTypedEvents(
    table: number,
    layout: number,
    rows: number,
    transactions: number,
    count: number,
  ): number;
  setDecoder(table: number, id: number, blockEnd: number, decoder: number): void;
  base58Initialize(base: number): void;
  base58Encode(bytes: number, length: number, out: number): number;
  takeDecodedBytes(): number;
  sumCounts(counts: number, transactionCount: number, out: number): void;
  readPageStarts(
    table: number,
    length: number,
    sectionCount: number,
    pagedSections: number,
    pageCount: number,
    out: number,
  ): number;
  countByBlock(ids: number, count: number, counts: number): void;
  copyKeysFromBlocks(
    ids: number,
    count: number,
    blocks: number,
    keyTable: number,
    out: number,
  ): number;
  startsOf(lengths: number, count: number, out: number): number;
  addColumn(column: number, count: number, out: number): void;
  sumOf(column: number, count: number): number;
  highestOf(column: number, count: number): number;
  sumInRanges(steps: number, starts: number, rangeCount: number, out: number): void;
  resolvePost(pre: number, post: number, count: number, out: number): void;
  applyChanges(pre: number, change: number, count: number, out: number): void;
  addressTexts(
    ...args: [
      depths: number,
      odd: number,
      oddSteps: number,
      starts: number,
      transactionCount: number,
      path: number,
      textStarts: number,
      out: number,
    ]
  ): number;
  locateTransactions(
    ...args: [
      list: number,
      count: number,
      first: number,
      pageTransactions: number,
      ranks: number,
      firstPosition: number,
      out: number,
    ]
  ): void;
  moveCodes(codes: number, count: number, by: number): void;
  setGroup(table: number, scratch: number): void;
  selectInstructions(item: number, transactionCount: number): number;
  selectTransactions(item: number, transactionCount: number): number;
  selectRows(item: number, table: number, transactionCount: number): number;
  selectRewards(
    keys: number,
    width: number,
    rewardCount: number,
    ids: number,
    idCount: number,
    flags: number,
  ): number;
  requestKeys(transactionCount: number, keyTable: number, out: number): number;
  requestRewardKeys(
    keys: number,
    width: number,
    rewardCount: number,
    flags: number,
    keyTable: number,
    out: number,
  ): number;
  copyListedKeys(
    ids: number,
    count: number,
    keys: number,
    firstId: number,
    keyTable: number,
    out: number,
  ): void;
  cancelRequests(keyTable: number, count: number): void;
  setKeys(starts: number, ids: number, keyTable: number): void;
  takeHeaderMissing(): number;
  takeKeyMissing(): number;
  writeLines(
    state: number,
    kinds: number,
    lines: number,
    blockEnd: number,
    out: number,
    goal: number,
    limit: number,
  ): number;
}
