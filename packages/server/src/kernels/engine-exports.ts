/** The functions of `assembly/engine.ts` that the engine calls. Addresses are byte positions in the kernel's memory. */
export interface EngineExports {
  readonly BASE58_TABLE_BYTES: { readonly value: number };
  lzDecompress(input: number, length: number, out: number, capacity: number): number;
  joinPlanes(input: number, planes: number, count: number, width: number, out: number): void;
  base58Initialize(base: number): void;
  base58Encode(bytes: number, length: number, out: number): number;
  startsOf(lengths: number, width: number, count: number, out: number): number;
  addColumn(column: number, width: number, count: number, out: number): void;
  sumInRanges(steps: number, width: number, starts: number, rangeCount: number, out: number): void;
  decodeKeys(codes: number, width: number, count: number, highestBefore: number, out: number): void;
  resolvePost(
    pre: number,
    preWidth: number,
    post: number,
    postWidth: number,
    count: number,
    out: number,
  ): void;
  applyChanges(
    pre: number,
    preWidth: number,
    change: number,
    changeWidth: number,
    count: number,
    out: number,
  ): void;
  addressTexts(
    depths: number,
    width: number,
    starts: number,
    transactionCount: number,
    path: number,
    textStarts: number,
    out: number,
  ): number;
  dataPrefixes(bytes: number, starts: number, count: number, width: number, out: number): void;
  bitsOf(values: number, count: number): number;
  narrow(values: number, count: number, width: number, out: number): void;
  interleave(
    ...args: [
      column: number,
      width: number,
      count: number,
      place: number,
      rowWidth: number,
      stride: number,
      out: number,
    ]
  ): void;
  capBytes(column: number, width: number, count: number, out: number): void;
  signatureRooms(bytes: number, count: number, out: number): void;
  poolTexts: PoolRows;
  poolData: PoolRows;
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
  askKeys(transactionCount: number, rooms: number, out: number): number;
  askRewardKeys(
    keys: number,
    width: number,
    rewardCount: number,
    flags: number,
    rooms: number,
    out: number,
  ): number;
  placeKeys(ids: number, count: number, pageKeys: number, rooms: number, out: number): void;
  unaskKeys(rooms: number, count: number): void;
  setKeys(starts: number, ids: number, rooms: number): void;
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

type PoolRows = (
  ...args: [
    bytes: number,
    starts: number,
    count: number,
    table: number,
    mask: number,
    offsets: number,
    out: number,
  ]
) => number;
