/** The functions of `assembly/engine/gather`, which write the values of selected rows into the buffers of Arrow columns. */
export interface GatherExports {
  collectRows(
    ...args: [
      flags: number,
      starts: number,
      marks: number,
      bit: number,
      first: number,
      end: number,
      rows: number,
      transactions: number,
      count: number,
    ]
  ): number;
  collectBlockRows(flags: number, first: number, end: number, rows: number, count: number): number;
  gatherInts(
    column: number,
    width: number,
    plus: number,
    rows: number,
    count: number,
    out: number,
  ): void;
  gatherTransactionInts(
    ...args: [column: number, width: number, transactions: number, count: number, out: number]
  ): void;
  gatherLongs(column: number, width: number, rows: number, count: number, out: number): void;
  gatherIntsOrNull(
    column: number,
    width: number,
    rows: number,
    count: number,
    out: number,
    valid: number,
  ): number;
  gatherNulls(
    flags: number,
    width: number,
    bit: number,
    rows: number,
    count: number,
    valid: number,
  ): number;
  gatherFlags(
    column: number,
    width: number,
    mask: number,
    rows: number,
    count: number,
    out: number,
  ): void;
  gatherOutcomes(
    column: number,
    width: number,
    rows: number,
    count: number,
    out: number,
    valid: number,
  ): number;
  beginKeys(indexTable: number, list: number, textsBefore: number): void;
  endKeys(): void;
  keyCount(): number;
  gatherKeys(
    column: number,
    width: number,
    rows: number,
    transactions: number,
    count: number,
    out: number,
  ): void;
  gatherAccountKeys(
    ...args: [
      column: number,
      width: number,
      starts: number,
      numbers: number,
      rows: number,
      transactions: number,
      count: number,
      out: number,
      valid: number,
    ]
  ): number;
  gatherKeysOrNull(
    ...args: [
      column: number,
      width: number,
      rows: number,
      transactions: number,
      count: number,
      out: number,
      valid: number,
    ]
  ): number;
  gatherPayers(
    staticCounts: number,
    width: number,
    transactions: number,
    count: number,
    out: number,
    valid: number,
  ): number;
  gatherKeyIds(column: number, width: number, rows: number, count: number, out: number): void;
  gatherKeyLists(
    ...args: [
      positions: number,
      width: number,
      starts: number,
      rows: number,
      transactions: number,
      count: number,
      outStarts: number,
      out: number,
    ]
  ): void;
  gatherKeyRanges(
    ...args: [
      skip: number,
      skipMore: number,
      lengths: number,
      width: number,
      transactions: number,
      count: number,
      outStarts: number,
      out: number,
    ]
  ): void;
  hasMissingKey(): number;
  copyKeyTexts(outStarts: number, first: number, length: number): number;
  copyKeyBytes(from: number, indexes: number, count: number, out: number): void;
  sumOfRanges(starts: number, rows: number, count: number): number;
  gatherRanges(
    ...args: [
      bytes: number,
      starts: number,
      scale: number,
      rows: number,
      count: number,
      outStarts: number,
      out: number,
    ]
  ): void;
  gatherEscaped(
    bytes: number,
    starts: number,
    rows: number,
    count: number,
    outStarts: number,
    out: number,
  ): void;
  gatherCoded(
    ...args: [
      codes: number,
      width: number,
      bytes: number,
      starts: number,
      isText: number,
      rows: number,
      count: number,
      outStarts: number,
      out: number,
      valid: number,
    ]
  ): number;
  gatherNullTexts(
    bytes: number,
    starts: number,
    rows: number,
    count: number,
    valid: number,
  ): number;
  gatherHex(
    ...args: [
      bytes: number,
      starts: number,
      byteCount: number,
      rows: number,
      count: number,
      outStarts: number,
      out: number,
      valid: number,
    ]
  ): number;
  gatherSignatures(
    ...args: [
      bytes: number,
      starts: number,
      transactions: number,
      count: number,
      isAll: number,
      textStarts: number,
      texts: number,
      out: number,
    ]
  ): number;
  gatherUnsigned(starts: number, transactions: number, count: number, valid: number): number;
  gatherSignatureBytes(
    ...args: [bytes: number, starts: number, transactions: number, count: number, out: number]
  ): void;
  gatherSignatureLists(
    ...args: [starts: number, transactions: number, count: number, outStarts: number, out: number]
  ): void;
  gatherInstructionRows(
    ...args: [
      column: number,
      width: number,
      starts: number,
      rows: number,
      transactions: number,
      count: number,
      out: number,
    ]
  ): void;
  gatherPaths(
    ...args: [
      texts: number,
      textStarts: number,
      rows: number,
      count: number,
      outStarts: number,
      out: number,
    ]
  ): number;
  gatherOwnedRows(
    ...args: [
      starts: number,
      transactions: number,
      count: number,
      outStarts: number,
      rows: number,
      owners: number,
    ]
  ): void;
  gatherParts(
    ...args: [
      values: number,
      width: number,
      starts: number,
      lengths: number,
      lengthWidth: number,
      isRest: number,
      rows: number,
      count: number,
      outStarts: number,
      out: number,
    ]
  ): number;
}
